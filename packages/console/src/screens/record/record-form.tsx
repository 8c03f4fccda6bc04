import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { serverNowMs } from '../../api/clock.ts'
import { curlOf } from '../../api/curl.ts'
import { pathOf, read } from '../../api/request.ts'
import type { Indices, RecordRow, TableMetadata } from '../../api/types.ts'
import { guardLeaving } from '../../router.ts'
import { contents } from '../../state/catalogue.ts'
import { dropDraft, newText } from '../../state/drafts.ts'
import { canWrite } from '../../state/session.ts'
import { formatJson } from '../../text/format.ts'
import { into, set } from '../../ui/action.tsx'
import { alarm, announce } from '../../ui/announce.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Confirm } from '../../ui/form.tsx'
import { toast } from '../../ui/toasts.tsx'
import { Conflict } from './conflict.tsx'
import { Editing, type Wanted } from './editing.ts'
import { Editor, type EditorControl } from './editor.tsx'
import { Facts, NewFacts } from './facts.tsx'
import { Notices } from './notices.tsx'
import { indexFields } from './placement.ts'
import { keyFault, type RecordKey, showRecordKey } from './record-key.ts'
import { conditionOf, putBody, recordPath } from './record-requests.ts'
import { SaveAs } from './save-as.tsx'
import { checkText, StatusLine, useChecked, useSavedTime } from './status-line.tsx'
import { readTtl } from './ttl.ts'

/** The actions that are used less often. Esc, a click on one and leaving it close it. */
const MoreMenu = ({ children }: { children: ComponentChildren }) => {
  const menu = useRef<HTMLDetailsElement>(null)
  const close = () => {
    menu.current!.open = false
  }
  return (
    <details
      ref={menu}
      class="more-menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current!.open) return
        event.stopPropagation()
        close()
        menu.current!.querySelector('summary')!.focus()
      }}
      onFocusOut={(event) => {
        if (!menu.current!.contains(event.relatedTarget as Node | null)) close()
      }}
    >
      <summary class="button">More</summary>
      <div class="more-items">{children}</div>
    </details>
  )
}

/** The indices of a table: from the catalogue, or read if it does not have them. undefined: not known yet. */
const useIndices = (db: string, table: string): ReadonlySignal<Indices | undefined> => {
  const own = useSignal<Indices | undefined>(undefined)
  const known = useComputed(() => {
    const found = contents.value.get(db)
    const listed = found && !('error' in found) ? found.tables.find((each) => each.table === table) : undefined
    return listed?.indices ?? own.value
  })
  useEffect(() => {
    if (known.peek() !== undefined) return
    // The status line says less without the indices. The request for the record says what is wrong with the table.
    read<TableMetadata>('GET', pathOf('v1', db, table)).then(
      ({ indices }) => {
        own.value = indices
      },
      () => {},
    )
  }, [db, table])
  return known
}

interface Props {
  db: string
  table: string
  /** The key is undefined for a new record. */
  recordKey?: RecordKey
  /** The record is undefined if there is none (any more). */
  stored?: RecordRow
  onSaved: (row: RecordRow) => void
  /** Gets the record as it was stored, if it was deleted here. */
  onDeleted: (deleted?: RecordRow) => void
  /** A record with another key than this one was saved, or is to be shown. */
  onOpen: (key: RecordKey) => void
}

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The record as text, with everything that can be done to it. It is mounted anew for each record. */
export const RecordForm = ({ db, table, recordKey, stored, onSaved, onDeleted, onOpen }: Props) => {
  const editing = useMemo(() => new Editing(db, table, recordKey, stored), [])
  const indices = useIndices(db, table)
  const checked = useChecked(editing, indices)
  const savedTime = useSavedTime(editing)
  const control = useRef<EditorControl>(null)
  const caret = useSignal({ line: 1, column: 1 })
  const asking = useSignal<'delete' | 'saveAs' | undefined>(undefined)
  const statusId = useId()
  const isNew = recordKey === undefined
  const mayWrite = canWrite.value
  useEffect(() => guardLeaving(() => canWrite.value && editing.isChanged.value), [])

  const goTo = (offset: number) => control.current!.goTo(offset)
  /** True if the text can be sent. Otherwise it says why not. */
  const isReady = (): boolean => {
    const { fault } = checkText(editing, indices.value)
    const ttlFault = readTtl(editing.ttl.value, serverNowMs()).fault
    const { hashKey, rangeKey } = editing.keyToSave
    const wrongKey = keyFault(hashKey, 'The hash key') ?? keyFault(rangeKey ?? '#', 'The range key')
    if (fault !== undefined) goTo(fault.offset)
    const message = wrongKey ?? ttlFault ?? fault?.message
    if (message === undefined) return true
    alarm(message)
    if (fault === undefined) editing.trouble.value = { kind: 'error', error: new Error(message) }
    return false
  }
  const done = (row: RecordRow | undefined) => {
    if (row === undefined) return
    // The version makes a second save another message, which is said too.
    announce(`Saved, version ${row.updatedAt}`)
    onSaved(row)
    if (isNew) onOpen(row)
  }
  const save = async (version: number | undefined) => {
    if (isReady()) done(await editing.save(version))
  }
  const saveChanges = () => {
    if (editing.isChanged.value) return save(editing.base.value.version)
    announce('Nothing has changed')
  }
  const remove = async (row: RecordRow) => {
    const deleted = await editing.delete(row)
    if (deleted !== undefined) onDeleted(deleted)
  }
  const readAgain = async (wanted: Wanted) => {
    const found = await editing.readAgain(wanted)
    if (found === undefined || 'data' in found) done(found)
    else onDeleted(found.deleted)
  }
  const takeStored = (row: RecordRow | undefined) => {
    if (isNew && row !== undefined) return onOpen(row)
    const [shown, ttl] = [editing.shown.value, editing.ttl.value]
    editing.take(row)
    if (row === undefined) return onDeleted()
    toast('Took the stored one', () => editing.change({ shown, ttl }))
  }
  /** Gives up the typed text, and closes the record if there is no stored text to show. */
  const discard = () => {
    editing.take()
    if (!isNew && editing.base.value.version === undefined) onDeleted()
  }
  const format = () => {
    const { fault } = checkText(editing, undefined)
    if (fault !== undefined) return goTo(fault.offset)
    const formatted = formatJson(editing.shown.value)
    if (formatted === editing.shown.value) announce('Nothing to format')
    else control.current!.replace(formatted)
  }

  const onKey = useRef((_event: KeyboardEvent) => {})
  onKey.current = (event) => {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey || !mayWrite) return
    event.preventDefault()
    if (!document.querySelector('dialog[open]')) saveChanges()
  }
  // The listener is added before the form is seen, so that no key is lost to the browser's own dialog.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => onKey.current(event)
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])

  const startFields = useComputed(() =>
    isNew && editing.shown.value === newText ? indexFields(indices.value ?? {}) : [],
  )
  const trouble = editing.trouble.value
  const { version } = editing.base.value
  const curl = () =>
    mayWrite
      ? curlOf({
          method: 'PUT',
          path: pathOf('v1', db, table),
          body: putBody(editing.keyToSave, editing.text, editing.ttlSeconds),
          headers: conditionOf(version),
        })
      : curlOf({ method: 'GET', path: recordPath(db, table, editing.keyToSave) })
  return (
    <div class="record">
      <div class="record-top">
        {isNew ? <NewFacts editing={editing} /> : <Facts editing={editing} />}
        <Notices editing={editing} onDiscard={discard} onReadAgain={readAgain} />
        {startFields.value.length > 0 && (
          <p>
            <button
              type="button"
              class="link"
              onClick={() =>
                control.current!.replace(
                  `{\n${startFields.value.map((field) => `  ${JSON.stringify(field)}: ""`).join(',\n')}\n}`,
                )
              }
            >
              Start with the fields of the indices: {startFields.value.join(', ')}
            </button>
          </p>
        )}
      </div>
      <Editor
        text={editing.shown}
        isReadOnly={!mayWrite}
        describedBy={statusId}
        isFaulty={checked.value.fault !== undefined}
        onInput={(shown) => editing.change({ shown })}
        onCaret={into(caret)}
        control={control}
      />
      <StatusLine id={statusId} checked={checked.value} savedTime={savedTime} caret={caret.value} onGoTo={goTo} />
      <div class="actions record-actions">
        {mayWrite && (
          <>
            <button
              type="button"
              class="filled"
              aria-keyshortcuts={isApple ? 'Meta+S' : 'Control+S'}
              disabled={!editing.isChanged.value || editing.isBusy.value}
              onClick={saveChanges}
            >
              {isNew ? 'Create' : 'Save'}{' '}
              <span aria-hidden="true">
                <kbd>{isApple ? '⌘S' : 'Ctrl S'}</kbd>
              </span>
            </button>
            <button type="button" onClick={format}>
              Format
            </button>
          </>
        )}
        <CopyButton text={() => editing.text} what="the whole text" />
        <MoreMenu>
          {mayWrite && !isNew && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                if (isReady()) asking.value = 'saveAs'
              }}
            >
              Save as another key
            </button>
          )}
          {!isNew && <CopyButton class="quiet" label="Copy the hash key" text={() => editing.keyToSave.hashKey} />}
          <CopyButton class="quiet" label="Copy as curl" text={curl} />
          {mayWrite && editing.seen !== undefined && (
            <>
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  editing.storesShown.value = !editing.storesShown.value
                }}
              >
                {editing.storesShown.value ? 'Keep the stored white space' : 'Store the formatting'}
              </button>
              <button type="button" class="quiet danger" onClick={set(asking, 'delete')}>
                Delete
              </button>
            </>
          )}
        </MoreMenu>
      </div>
      {asking.value === 'delete' && editing.seen !== undefined && (
        <Confirm
          title="Delete this record?"
          action="Delete"
          run={() => remove(editing.seen!)}
          onClose={set(asking, undefined)}
        >
          <p class="mono">{showRecordKey(editing.keyToSave)}</p>
          <p>
            It is deleted only if it is still version {editing.seen.updatedAt}. The table offers to undo it as long as
            this page is open.
          </p>
        </Confirm>
      )}
      {asking.value === 'saveAs' && (
        <SaveAs
          editing={editing}
          onSaved={(row) => {
            dropDraft(editing.place)
            editing.take()
            announce(`Saved, version ${row.updatedAt}`)
            onSaved(row)
            onOpen(row)
          }}
          onClose={set(asking, undefined)}
        />
      )}
      {trouble?.kind === 'conflict' && (
        <Conflict
          editing={editing}
          wanted={trouble.wanted}
          stored={trouble.stored}
          onClose={set(editing.trouble, undefined)}
          onTake={() => takeStored(trouble.stored)}
          onSave={save}
          onDelete={remove}
        />
      )}
    </div>
  )
}
