import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { RecordRow } from '../../api/types.ts'
import { cellOf } from '../../text/cell.ts'
import { checkJson } from '../../text/check.ts'
import { formatJson } from '../../text/format.ts'
import { changedSince, type MemberDiff, memberDiffs, mergeMembers } from '../../text/member-diff.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Time } from '../../ui/time.tsx'
import { nameText } from '../table/rows.ts'
import { type ShownRow, shownDiff } from './diff-view.ts'
import type { Editing, Wanted } from './editing.ts'
import { showTtl } from './ttl.ts'

type Side = 'left' | 'right'

/** The members that can be chosen one by one. */
const membersMax = 100

const signOf = (row: ShownRow): { sign: string; words: string } => {
  if (row.same) return { sign: ' ', words: '' }
  const isBoth = row.left !== undefined && row.right !== undefined
  return isBoth ? { sign: '≠', words: 'Differs: ' } : { sign: '+', words: 'Only here: ' }
}

const Line = ({ row, side }: { row: ShownRow; side: Side }) => {
  if (row.equal !== undefined) return <div class="diff-equal">{row.equal} equal lines</div>
  const text = row[side]
  if (text === undefined) return <div class="diff-gap" />
  const { sign, words } = signOf(row)
  const mark = side === 'left' ? row.leftMark : row.rightMark
  return (
    <div class={row.same ? '' : sign === '+' ? 'diff-only' : 'diff-changed'}>
      <span class="diff-number">{side === 'left' ? row.leftLine : row.rightLine}</span>
      <span class="diff-sign" aria-hidden="true">
        {sign}
      </span>
      {words !== '' && <span class="offscreen">{words}</span>}
      {mark === undefined ? (
        text
      ) : (
        <>
          {text.slice(0, mark[0])}
          <mark>{text.slice(...mark)}</mark>
          {text.slice(mark[1])}
        </>
      )}
    </div>
  )
}

const Pane = ({ title, rows, side }: { title: string; rows: ShownRow[]; side: Side }) => (
  <div class="diff-pane">
    <h3>{title}</h3>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
    <section class="diff-lines" tabIndex={0} aria-label={`${title}: text`}>
      {rows.map((row, i) => (
        <Line key={i} row={row} side={side} />
      ))}
    </section>
  </div>
)

interface Choice extends MemberDiff {
  changedBy: string
}

/** The choice of the ttl has a name that no path of a member has. */
const ttlPath = '(expires)'

/** The members that differ, the ttl with them. `theirs` are those that only somebody else has changed. */
const choicesOf = (editing: Editing, stored: RecordRow): { choices: Choice[]; theirs: Set<string> } => {
  const mine = editing.shown.value
  const base = editing.base.value
  const members = memberDiffs(mine, stored.data)
  const byMe = changedSince(base.text, mine, members)
  const byThem = changedSince(base.text, stored.data, members)
  const ttl = editing.ttlSeconds
  if (ttl !== stored.ttl) {
    members.push({ path: ttlPath, mine: showTtl(ttl) || 'never', stored: showTtl(stored.ttl) || 'never' })
    if (ttl !== base.ttl) byMe.add(ttlPath)
    if (stored.ttl !== base.ttl) byThem.add(ttlPath)
  }
  const changedBy = (path: string): string =>
    !byMe.has(path) ? 'changed by somebody else' : byThem.has(path) ? 'changed by both' : 'changed by you'
  return {
    choices: members.map((member) => ({ ...member, changedBy: changedBy(member.path) })),
    theirs: new Set(members.map(({ path }) => path).filter((path) => !byMe.has(path))),
  }
}

const Value = ({ text }: { text: string | undefined }) => {
  if (text === undefined) return <span class="muted">not there</span>
  const cell = cellOf(text, 0, text.length)
  return <code>{cell.isCut ? `${cell.text}…` : cell.text}</code>
}

/** The choice of mine or theirs for each member. */
const Choices = ({ of, taken }: { of: readonly Choice[]; taken: Signal<ReadonlySet<string>> }) => {
  const choose = (path: string, isTaken: boolean) => () => {
    const next = new Set(taken.value)
    if (isTaken) next.add(path)
    else next.delete(path)
    taken.value = next
  }
  return (
    <div class="members">
      {of.slice(0, membersMax).map(({ path, mine, stored, changedBy }) => (
        <fieldset class="plain" key={path}>
          <legend>
            <code>{nameText(path)}</code> <small>{changedBy}</small>
          </legend>
          {[false, true].map((isTaken) => (
            <label class="check" key={String(isTaken)}>
              <input
                type="radio"
                name={`member ${path}`}
                checked={taken.value.has(path) === isTaken}
                onChange={choose(path, isTaken)}
              />
              <span>
                {isTaken ? 'Stored' : 'Yours'} <Value text={isTaken ? stored : mine} />
              </span>
            </label>
          ))}
        </fieldset>
      ))}
    </div>
  )
}

const Texts = ({ editing, stored }: { editing: Editing; stored: RecordRow }) => {
  const mine = editing.shown.value
  const { rows, changes, hidden } = useMemo(() => shownDiff(mine, stored.data), [mine, stored])
  return (
    <>
      {changes === 0 ? (
        <p>Both texts are the same{mine === stored.data ? '' : ', but for white space'}.</p>
      ) : (
        <div class="diff">
          <Pane title="Yours" rows={rows} side="left" />
          <Pane title="Stored" rows={rows} side="right" />
        </div>
      )}
      {hidden > 0 && <p class="muted">{hidden.toLocaleString('en')} further lines are not shown here.</p>}
    </>
  )
}

const titleOf = (editing: Editing, stored: RecordRow | undefined): string => {
  if (stored === undefined) return 'The record was deleted meanwhile'
  return editing.key === undefined ? 'A record with this key exists' : 'The record was changed meanwhile'
}

interface Props {
  editing: Editing
  wanted: Wanted
  stored: RecordRow | undefined
  /** Called when the dialog is closed without a decision. */
  onClose: () => void
  onTake: () => void
  onSave: (version: number | undefined) => void
  onDelete: (stored: RecordRow) => void
}

/** Mine and the stored text. Nothing is lost by closing it. */
export const Conflict = ({ editing, wanted, stored, onClose, onTake, onSave, onDelete }: Props) => {
  const isNew = editing.key === undefined
  const keep = useRef<HTMLButtonElement>(null)
  const { choices, theirs } = useMemo(
    () =>
      stored === undefined || isNew || !checkJson(editing.shown.value).ok
        ? { choices: [], theirs: new Set<string>() }
        : choicesOf(editing, stored),
    [],
  )
  const taken = useSignal<ReadonlySet<string>>(theirs)
  // The first choice has the focus, or else the button that loses nothing.
  useEffect(() => {
    if (choices.length === 0) keep.current?.focus()
  }, [])
  const goOn = () => {
    // The next save is for the key that is typed then: it may be another one.
    if (isNew) return onClose()
    const paths = choices.map(({ path }) => path)
    const isAnyTaken = paths.some((path) => path !== ttlPath && taken.value.has(path))
    const shown = isAnyTaken
      ? formatJson(mergeMembers(editing.shown.value, stored!.data, taken.value))
      : editing.shown.value
    const ttl = taken.value.has(ttlPath) ? showTtl(stored!.ttl) : editing.ttl.value
    editing.rebase(stored, shown, ttl, {
      taken: paths.filter((path) => taken.value.has(path)),
      kept: paths.filter((path) => !taken.value.has(path)),
    })
  }
  const undone = wanted === 'save' ? 'Your text is not saved yet' : 'It is not deleted'
  return (
    <Dialog title={titleOf(editing, stored)} onClose={onClose} isWide>
      <div class="stack conflict">
        {stored === undefined ? (
          <p>Somebody deleted it, or it has expired, since you opened it. {undone}; nothing of it is lost.</p>
        ) : (
          <p>
            The stored one is version <code>{stored.updatedAt}</code>, written <Time ms={stored.updatedAt} />.{' '}
            {`${undone}; nothing is lost.`}
          </p>
        )}
        {choices.length > 0 && (
          <>
            <p>
              <strong>These members differ.</strong> "Keep editing" goes on from the stored version with the values that
              you choose here.
              {choices.length > membersMax &&
                ` ${choices.length - membersMax} more are not listed: those that only somebody else has changed are taken.`}
            </p>
            <Choices of={choices} taken={taken} />
          </>
        )}
        {stored !== undefined && <Texts editing={editing} stored={stored} />}
        <div class="actions">
          <button ref={keep} type="button" class="filled" onClick={goOn}>
            Keep editing
          </button>
          <button type="button" onClick={onTake}>
            {stored === undefined ? 'Discard mine' : isNew ? 'Open the stored one' : 'Take the stored one'}
          </button>
          {wanted === 'delete' && stored !== undefined ? (
            <button type="button" class="danger apart" onClick={() => onDelete(stored)}>
              Delete the stored one
            </button>
          ) : (
            <button type="button" class="danger apart" onClick={() => onSave(stored?.updatedAt)}>
              {stored === undefined ? 'Save mine as a new record' : 'Save mine over it'}
            </button>
          )}
        </div>
      </div>
    </Dialog>
  )
}
