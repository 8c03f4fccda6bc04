import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { canWrite } from '../../state/session.ts'
import { set } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { keepFocus } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Confirm } from '../../ui/form.tsx'
import { type Jobs, leftListedMax } from './jobs.ts'
import { changeWords, rowChanges } from './live/row-changes.ts'
import { placeName, valueWords } from './loaded-view.ts'
import { type GridRow, lineOf, nameText } from './rows.ts'
import type { TableQuery } from './table-query.ts'

/** Rows that wait until nothing moves under the reader's hands. */
const LaterRows = ({ query }: { query: TableQuery }) => {
  const later = query.later.value
  if (later === undefined) return null
  return (
    <>
      {' '}
      <button
        type="button"
        class="link"
        onClick={() => {
          query.onShowLater()
          keepFocus()
        }}
      >
        Show {changeWords(rowChanges(query.rows.value, later))}
      </button>
    </>
  )
}

interface Props {
  query: TableQuery
  jobs: Jobs
  /** Buttons of the screen, such as the choice of columns. */
  children: ComponentChildren
}

const words = (count: number): string => (count === 1 ? 'record' : 'records')

const Selected = ({ rows, query, jobs }: { rows: GridRow[] } & Pick<Props, 'query' | 'jobs'>) => {
  const isAsking = useSignal(false)
  const count = rows.length.toLocaleString('en')
  return (
    <>
      <p>
        <strong>{count}</strong> selected
        <LaterRows query={query} />
      </p>
      <div class="status-actions">
        <CopyButton
          class="quiet"
          label="Copy as JSON lines"
          text={() => rows.map(({ record }) => `${lineOf(record)}\n`).join('')}
        />
        <button type="button" class="quiet" onClick={() => query.selection.all([])}>
          Clear selection
        </button>
      </div>
      {canWrite.value && (
        <button
          type="button"
          class="quiet danger apart"
          disabled={jobs.progress.value !== undefined}
          onClick={set(isAsking, true)}
        >
          Delete
        </button>
      )}
      {isAsking.value && (
        <Confirm
          title={`Delete ${count} ${words(rows.length)}?`}
          action="Delete"
          // The progress is shown on the screen, where it can be stopped.
          run={() => void jobs.delete(rows)}
          onClose={set(isAsking, false)}
        >
          <p>Only records that are still as shown here are deleted. You can undo it as long as this page is open.</p>
        </Confirm>
      )}
    </>
  )
}

const Found = ({ query, jobs, children }: Props) => {
  const asked = query.asked.value
  const count = query.rows.value.length
  const isBusy = jobs.progress.value !== undefined
  return (
    <>
      <p>
        {asked !== undefined && (
          <>
            <strong>{count.toLocaleString('en')}</strong> {words(count)}
            {query.error.value !== undefined ? ' of the query before' : query.cursor.value !== null && ', more follow'}{' '}
            <span class="muted">{Math.round(query.ms.value)} ms</span>
            <LaterRows query={query} />
          </>
        )}
      </p>
      <div class="status-actions">
        {asked !== undefined && (
          <>
            <button type="button" class="quiet" disabled={isBusy} onClick={() => jobs.count(asked)}>
              Count
            </button>
            <button type="button" class="quiet" disabled={isBusy} onClick={() => jobs.export(asked)}>
              Export NDJSON
            </button>
          </>
        )}
        {jobs.hasDeleted.value && canWrite.value && !jobs.notice.value?.hasUndo && (
          <button type="button" class="quiet" disabled={isBusy} onClick={() => jobs.undo()}>
            Undo the deletion
          </button>
        )}
        {children}
      </div>
    </>
  )
}

/** The filter and the order of the loaded rows. Neither asks the server. */
const ViewLine = ({ query }: { query: TableQuery }) => {
  const { only, sort } = query.view.value
  if (only === undefined && sort === undefined) return null
  const loaded = `${query.rows.value.length.toLocaleString('en')} loaded ${words(query.rows.value.length)}`
  const shown = query.shown.value.length
  return (
    <div class="job">
      <p>
        {only !== undefined && (
          <>
            <strong>{shown.toLocaleString('en')}</strong> of the {loaded} {shown === 1 ? 'has' : 'have'}{' '}
            <code>{valueWords(only.place, only.json)}</code>
          </>
        )}
        {sort !== undefined && (
          <>
            {only === undefined ? `The ${loaded} are ` : ', '}sorted by <code>{nameText(placeName(sort.place))}</code>,{' '}
            {sort.isDescending ? 'descending' : 'ascending'}
          </>
        )}
        . {query.cursor.value !== null && 'Records that are not loaded are not considered.'}
      </p>
      <button type="button" class="link" onClick={() => query.look({})}>
        Show as queried
      </button>
    </div>
  )
}

/** The progress of a long job, its result, or its error. */
const JobLine = ({ jobs }: { jobs: Jobs }) => {
  const progress = jobs.progress.value
  const notice = jobs.notice.value
  const left = notice?.left ?? []
  if (jobs.error.value !== undefined) {
    return (
      <div class="job">
        <ErrorBox error={jobs.error.value} />
        {notice && <p>{notice.text}</p>}
        {notice?.hasUndo && (
          <button type="button" class="link" onClick={() => jobs.undo()}>
            Undo
          </button>
        )}
      </div>
    )
  }
  if (progress !== undefined) {
    return (
      <div class="job">
        <p>{progress}</p>
        <button type="button" class="link" onClick={() => jobs.stop()}>
          Stop
        </button>
      </div>
    )
  }
  if (notice === undefined) return null
  return (
    <div class="job">
      <p>{notice.text}</p>
      {notice.hasUndo && (
        <button type="button" class="link" onClick={() => jobs.undo()}>
          Undo
        </button>
      )}
      <button type="button" class="link" onClick={() => jobs.dismiss()}>
        Close
      </button>
      {left.length > 0 && (
        <ul class="mono">
          {left.slice(0, leftListedMax).map((line) => (
            <li key={line}>{line}</li>
          ))}
          {left.length > leftListedMax && <li>and {left.length - leftListedMax} more</li>}
        </ul>
      )}
    </div>
  )
}

export const StatusLine = ({ query, jobs, children }: Props) => {
  const selected = query.selection.ids.value
  const rows = selected.size === 0 ? [] : query.rows.value.filter(({ id }) => selected.has(id))
  return (
    <>
      <div class={rows.length > 0 ? 'status selected' : 'status'}>
        {rows.length > 0 ? (
          <Selected rows={rows} query={query} jobs={jobs} />
        ) : (
          <Found query={query} jobs={jobs}>
            {children}
          </Found>
        )}
      </div>
      <ViewLine query={query} />
      <JobLine jobs={jobs} />
    </>
  )
}
