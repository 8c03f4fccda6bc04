import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { RecordRow } from '../../api/types.ts'
import { differingMembers } from '../../text/member-diff.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Time } from '../../ui/time.tsx'
import { nameText } from '../table/rows.ts'
import { type ShownRow, shownDiff } from './diff-view.ts'
import type { Editing, Wanted } from './editing.ts'
import { showTtl } from './ttl.ts'

type Side = 'left' | 'right'

/** So many are named. */
const membersMax = 12

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

const Texts = ({ editing, stored }: { editing: Editing; stored: RecordRow }) => {
  const mine = editing.shown.value
  const { rows, changes, hidden } = useMemo(() => shownDiff(mine, stored.data), [mine, stored])
  const members = useMemo(() => differingMembers(mine, stored.data), [mine, stored])
  const ttl = editing.ttlSeconds
  return (
    <>
      {ttl !== stored.ttl && (
        <p>
          Expires: yours <code>{showTtl(ttl) || 'never'}</code>, stored <code>{showTtl(stored.ttl) || 'never'}</code>.
        </p>
      )}
      {changes === 0 ? (
        <p>Both texts are the same{mine === stored.data ? '' : ', but for white space'}.</p>
      ) : (
        <>
          <p>
            {members.length === 0 ? 'The same members in another order.' : 'These members differ: '}
            {members.slice(0, membersMax).map((path, i) => (
              <span key={path}>
                {i > 0 && ', '}
                <code>{nameText(path)}</code>
              </span>
            ))}
            {members.length > membersMax && ` and ${members.length - membersMax} more`}
          </p>
          <div class="diff">
            <Pane title="Yours" rows={rows} side="left" />
            <Pane title="Stored" rows={rows} side="right" />
          </div>
        </>
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
  onKeep: () => void
  onTake: () => void
  onSave: (version: number | undefined) => void
  onDelete: (stored: RecordRow) => void
}

/** Mine and the stored text. Nothing is lost by closing it. */
export const Conflict = ({ editing, wanted, stored, onKeep, onTake, onSave, onDelete }: Props) => {
  const isNew = editing.key === undefined
  const keep = useRef<HTMLButtonElement>(null)
  // What changes nothing has the focus.
  useEffect(() => keep.current?.focus(), [])
  const undone = wanted === 'save' ? 'Your text is not saved yet' : 'It is not deleted'
  return (
    <Dialog title={titleOf(editing, stored)} onClose={onKeep} isWide>
      <div class="stack conflict">
        {stored === undefined ? (
          <p>Somebody deleted it, or it has expired, since you opened it. {undone}; nothing of it is lost.</p>
        ) : (
          <p>
            The stored one is version <code>{stored.updatedAt}</code>, written <Time ms={stored.updatedAt} />.{' '}
            {`${undone}; nothing is lost.`}
          </p>
        )}
        {stored !== undefined && <Texts editing={editing} stored={stored} />}
        <div class="actions">
          <button ref={keep} type="button" class="filled" onClick={onKeep}>
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
