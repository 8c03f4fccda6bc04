import { useSignal } from '@preact/signals'
import { curlOf } from '../api/curl.ts'
import { pathOf, read, send } from '../api/request.ts'
import type {
  ActiveTable,
  DeletedTable,
  IndexDeclaration,
  Page,
  RecordRow,
  TableMetadata,
  TaskRow,
} from '../api/types.ts'
import { hrefOf, navigate } from '../router.ts'
import { loadContents } from '../state/catalogue.ts'
import { readTasks } from '../state/run-counts.ts'
import { canWrite } from '../state/session.ts'
import { showInstant } from '../text/instant.ts'
import { memberNamed } from '../text/scan.ts'
import { set } from '../ui/action.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Confirm } from '../ui/form.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { Shown, useLoad } from '../ui/load.tsx'
import { Screen, Section } from '../ui/screen.tsx'
import { toast } from '../ui/toasts.tsx'
import { IndexList } from './database.tsx'
import { EndChanges, KeepChanges } from './keep-changes.tsx'

// `#/db/table/_about`: the declaration, one worked query for each index, and how to delete the table.

interface Worked {
  title: string
  body: string
}

/** The text of a scalar member: what an index takes. */
const scalarOf = (data: string, field: string): string | undefined => {
  const span = memberNamed(data, field)
  const text = span && data.slice(span.start, span.end)
  return text !== undefined && /^["\-\dtf]/.test(text) ? text : undefined
}

const indexQuery = (slot: string, { hashField, rangeField }: IndexDeclaration, data: string): Worked => {
  const hash = scalarOf(data, hashField) ?? '"a-value"'
  if (rangeField === undefined) {
    return { title: `${slot}: all with one ${hashField}`, body: `{ "index": "${slot}", "hash": ${hash} }` }
  }
  const bound = scalarOf(data, rangeField)
  return {
    title: `${slot}: all with one ${hashField}, by ${rangeField}, the largest first`,
    body: `{ "index": "${slot}", "hash": ${hash}${bound === undefined ? '' : `, "range": { "lte": ${bound} }`}, "ascending": false }`,
  }
}

/** The queries have values of the newest record, so that each finds something. */
const workedQueries = ({ indices }: ActiveTable, newest: RecordRow | undefined): Worked[] => [
  { title: 'The newest records', body: '{ "index": "t", "limit": 10 }' },
  { title: 'All records of one hash key', body: `{ "hash": ${JSON.stringify(newest?.hashKey ?? 'a-hash-key')} }` },
  ...Object.entries(indices).map(([slot, index]) => indexQuery(slot, index, newest?.data ?? '{}')),
]

const Query = ({ path, query: { title, body } }: { path: string; query: Worked }) => (
  <section class="section">
    <div class="section-head">
      <h3>{title}</h3>
      <CopyButton
        class="link"
        label="Copy as curl"
        what={title}
        text={() => curlOf({ method: 'POST', path: `${path}/query`, body })}
      />
    </div>
    <JsonView text={body} label={`Query: ${title}`} />
  </section>
)

/** What the table keeps of its changes. */
const ChangesSection = ({ about }: { about: ActiveTable }) => {
  const { db, table } = about
  const changes = useSignal(about.changes)
  const asking = useSignal<'hours' | 'end' | undefined>(undefined)
  const kept = changes.value
  const dialog = {
    db,
    table,
    onKept: (answer: TableMetadata) => {
      changes.value = answer.changes
    },
    onClose: set(asking, undefined),
  }
  return (
    <Section
      title="Changes"
      actions={
        canWrite.value && (
          <>
            <button type="button" onClick={set(asking, 'hours')}>
              {kept === undefined ? 'Keep changes' : 'Change the hours'}
            </button>
            {kept !== undefined && (
              <button type="button" class="danger" onClick={set(asking, 'end')}>
                End
              </button>
            )}
          </>
        )
      }
    >
      {kept === undefined ? (
        <p>This table keeps no changes: nobody can read or watch them.</p>
      ) : (
        <dl class="facts">
          <dt>kept for</dt>
          <dd>{kept.keepHours === 1 ? '1 hour' : `${kept.keepHours} hours`}</dd>
          <dt>since</dt>
          <dd>{showInstant(kept.since).utc}</dd>
        </dl>
      )}
      {asking.value === 'hours' && <KeepChanges {...dialog} keepHours={kept?.keepHours} />}
      {asking.value === 'end' && <EndChanges {...dialog} />}
    </Section>
  )
}

/** The tasks that have a run for each write of the table. A database rarely has more than one page of tasks. */
const FollowedBySection = ({ about: { db, table } }: { about: ActiveTable }) => {
  const found = useLoad(
    async (signal) => {
      const followers: TaskRow[] = []
      for (let cursor = ''; ; ) {
        const page = await readTasks(db, signal, cursor)
        followers.push(...page.tasks.filter(({ on }) => on?.table === table))
        if (page.cursor === null) return followers
        cursor = page.cursor
      }
    },
    [db, table],
  )
  return (
    <Section title="Followed by">
      <Shown of={found}>
        {(followers) =>
          followers.length === 0 ? (
            <p>No task follows this table.</p>
          ) : (
            <ul>
              {followers.map(({ task, on }) => (
                <li key={task}>
                  <a class="mono" href={hrefOf({ screen: 'task', db, task })}>
                    {task}
                  </a>{' '}
                  <span class="muted">has a run for each {on!.ops.join(', ')}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </Section>
  )
}

const restore = async (deleted: DeletedTable): Promise<void> => {
  await send('POST', pathOf('v1', deleted.db, deleted.table, 'restore'), {
    body: JSON.stringify({ deletedAt: deleted.deletedAt }),
  })
  await loadContents(deleted.db)
  navigate({ screen: 'table', db: deleted.db, table: deleted.table })
}

export const AboutScreen = ({ db, table }: { db: string; table: string }) => {
  const path = pathOf('v1', db, table)
  const isDeleting = useSignal(false)
  const found = useLoad(
    async (signal) => {
      const about = await read<ActiveTable>('GET', path, { signal })
      const body = '{"index":"t","limit":1}'
      const { items } = await read<Page<RecordRow>>('POST', `${path}/query`, { body, signal })
      return { about, newest: items[0] }
    },
    [path],
  )
  const remove = async () => {
    const deleted = await read<DeletedTable>('DELETE', path)
    await loadContents(db)
    navigate({ screen: 'database', db })
    toast(`${table} is deleted. It can be restored for 7 days.`, () => restore(deleted))
  }
  return (
    <Screen
      path={[
        { label: db, to: { screen: 'database', db } },
        { label: table, to: { screen: 'table', db, table } },
      ]}
      title="About"
    >
      <div class="pad">
        <Shown of={found}>
          {({ about, newest }) => (
            <>
              <Section
                title="Declaration"
                actions={<CopyButton label="Copy as curl" text={() => curlOf({ method: 'GET', path })} />}
              >
                <dl class="facts">
                  <dt>database</dt>
                  <dd class="mono">{about.db}</dd>
                  <dt>table</dt>
                  <dd class="mono">{about.table}</dd>
                  <dt>created</dt>
                  <dd>{showInstant(about.createdAt).utc}</dd>
                  <dt>indices</dt>
                  <dd>
                    <IndexList indices={about.indices} />
                  </dd>
                </dl>
              </Section>
              <ChangesSection about={about} />
              {canWrite.value && <FollowedBySection about={about} />}
              <Section title="Queries that this table answers">
                {workedQueries(about, newest).map((query) => (
                  <Query key={query.title} path={path} query={query} />
                ))}
              </Section>
              {canWrite.value && (
                <Section title="Delete this table">
                  <p class="muted">Its records can be restored for 7 days. The name is free at once.</p>
                  <div>
                    <button type="button" class="danger" onClick={set(isDeleting, true)}>
                      Delete the table
                    </button>
                  </div>
                </Section>
              )}
            </>
          )}
        </Shown>
      </div>
      {isDeleting.value && (
        <Confirm
          title={`Delete ${table}?`}
          action="Delete the table"
          name={table}
          run={remove}
          onClose={set(isDeleting, false)}
        >
          <p>Every request for its records is answered with an error from then on. You can restore it for 7 days.</p>
        </Confirm>
      )}
    </Screen>
  )
}
