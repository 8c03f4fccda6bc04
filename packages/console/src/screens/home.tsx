import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { read } from '../api/request.ts'
import { hrefOf } from '../router.ts'
import {
  type Contents,
  catalogue,
  catalogueError,
  contents,
  loadCatalogue,
  loadContents,
  openedDatabasesMax,
  opening,
  refreshRail,
  unreadDatabases,
} from '../state/catalogue.ts'
import { overlay } from '../state/overlay.ts'
import { preference, setPreference } from '../state/preferences.ts'
import { recentTables } from '../state/recent-tables.ts'
import { runCounts } from '../state/run-counts.ts'
import { canWrite, session } from '../state/session.ts'
import { set } from '../ui/action.tsx'
import { Deleted } from '../ui/deleted.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { List } from '../ui/list.tsx'
import { LatePlaceholder, useLoad } from '../ui/load.tsx'
import { entriesOf, FailedCount, failedSum, UnreadDatabases } from '../ui/rail.tsx'
import { Empty, Screen, Section } from '../ui/screen.tsx'
import { toast } from '../ui/toasts.tsx'
import { Checklist } from './overview/checklist.tsx'
import { NewestWrites, readNewest } from './overview/newest-writes.tsx'
import { readRestorable, restoreThing } from './overview/restorable.ts'
import { describeOwn } from './sign-in.tsx'

// `#/`: what is in the organization, what went wrong, what was written last, and what can be restored.

const isRead = (found: Contents | { error: unknown } | undefined): found is Contents =>
  found !== undefined && !('error' in found)

/** An organization with at most this number of tables has just begun. */
const fewTables = 3
const queriedTablesMax = 6

const Names = ({ db, of }: { db: string; of: Contents }) => (
  <ul class="names">
    {entriesOf(db, of).map(({ name, kind, to }) => {
      const counts = kind === 'task' ? runCounts.value.get(`${db}/${name}`) : undefined
      return (
        <li key={`${kind} ${name}`}>
          <a href={hrefOf(to)}>{name}</a>{' '}
          {kind !== 'table' && (
            <small>
              {kind}
              {counts?.queued && ` · ${counts.queued} queued`}
            </small>
          )}
          {counts?.failed && ' '}
          {counts?.failed && (
            <a class="failed-link" href={hrefOf({ screen: 'task', db, task: name, status: 'failed' })}>
              <FailedCount count={counts.failed} />
            </a>
          )}
        </li>
      )
    })}
  </ul>
)

const count = (things: readonly unknown[], isCut: boolean): string =>
  `${things.length.toLocaleString('en')}${isCut && things.length >= 1000 ? '+' : ''}`

const DatabaseRow = ({ db }: { db: string }) => {
  const found = contents.value.get(db)
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf({ screen: 'database', db })}>{db}</a>
      </th>
      {isRead(found) ? (
        <>
          <td class="num" data-label="tables">
            {count(found.tables, found.isCut)}
          </td>
          <td class="num" data-label="buckets">
            {count(found.buckets, found.isCut)}
          </td>
          {canWrite.value && (
            <>
              <td class="num" data-label="tasks">
                {count(found.tasks, found.isCut)}
              </td>
              <td class="num">
                <FailedCount count={failedSum(db, found)} />
              </td>
            </>
          )}
          <td>
            <Names db={db} of={found} />
          </td>
        </>
      ) : (
        <td colSpan={canWrite.value ? 5 : 3}>
          {found === undefined && !opening.value.has(db) && (
            <button type="button" class="link" onClick={() => loadContents(db)}>
              Show what is in it
            </button>
          )}
          {found && 'error' in found && <ErrorBox error={found.error} retry={() => loadContents(db)} />}
        </td>
      )}
    </tr>
  )
}

const matches = (db: string, filter: string): boolean => {
  const found = contents.value.get(db)
  if (filter === '' || db.includes(filter)) return true
  return isRead(found) && entriesOf(db, found).some(({ name }) => name.includes(filter))
}

const Databases = ({ of }: { of: readonly string[] }) => {
  const filter = useSignal('')
  const shown = of.filter((db) => matches(db, filter.value))
  const number = (head: string) => ({ head, class: 'num' })
  return (
    <Section
      title="Databases"
      actions={
        <input
          type="search"
          class="narrow"
          aria-label="Filter this list"
          placeholder="Filter  /"
          data-focus-key="/"
          onInput={(event) => {
            filter.value = event.currentTarget.value.trim().toLowerCase()
          }}
        />
      }
    >
      <List
        class="blocks databases"
        heads={[
          'database',
          number('tables'),
          number('buckets'),
          ...(canWrite.value ? [number('tasks'), number('failed runs')] : []),
          'what is in it',
        ]}
      >
        {shown.map((db) => (
          <DatabaseRow key={db} db={db} />
        ))}
      </List>
      {shown.length === 0 && unreadDatabases.value.length === 0 && (
        <p class="muted">No database, table, bucket or task has “{filter}” in its name.</p>
      )}
      {filter.value !== '' && <UnreadDatabases class="muted" />}
      {catalogue.value?.isCut && <p class="muted">Only the first 1,000 databases are listed.</p>}
    </Section>
  )
}

/** The tables used last, and those of the first databases: where nothing was used yet, they are shown. */
const tablesToRead = (databases: readonly string[]): { db: string; table: string }[] => {
  const first = databases.slice(0, openedDatabasesMax).flatMap((db) => {
    const found = contents.value.get(db)
    return isRead(found) ? found.tables.map(({ table }) => ({ db, table })) : []
  })
  const recent = recentTables()
  return (recent.length > 0 ? recent : first).slice(0, queriedTablesMax)
}

const Overview = ({ databases }: { databases: readonly string[] }) => {
  const hideName = `checklist.${session.value?.self.organization}`
  const isHidden = useSignal(preference(hideName, false))
  const read = databases.slice(0, openedDatabasesMax).map((db) => contents.value.get(db))
  const isComplete = read.every((found) => found !== undefined)
  const tables = read.filter(isRead).flatMap((found) => found.tables)
  const newest = useLoad(
    async (signal) => (isComplete ? await readNewest(tablesToRead(databases), signal) : undefined),
    [isComplete],
  )
  const deleted = useLoad(
    async (signal) => (canWrite.value ? await readRestorable(databases.slice(0, openedDatabasesMax), signal) : []),
    [databases.join()],
  )
  const written = newest.value.value
  const isNew = databases.length <= 1 && tables.length <= fewTables
  return (
    <>
      {canWrite.value && isNew && !isHidden.value && (databases.length === 0 || written !== undefined) && (
        <Checklist
          table={tables[0]}
          hasRecord={written !== undefined && written.length > 0}
          hide={() => {
            isHidden.value = true
            setPreference(hideName, true)
          }}
        />
      )}
      {databases.length === 0 ? (
        !canWrite.value && <Empty text="This key only reads, and there is nothing to read yet." />
      ) : (
        <Databases of={databases} />
      )}
      <div class="overview-parts">
        {written !== undefined && written.length > 0 && <NewestWrites of={written} />}
        {deleted.error.value !== undefined && <ErrorBox error={deleted.error.value} retry={deleted.reload} />}
        <Deleted
          what="name"
          title="Deleted, can be restored"
          things={deleted.value.value ?? []}
          restore={async (thing) => {
            await restoreThing(thing)
            toast(`${thing.name} is restored.`)
            await Promise.all([refreshRail(thing.db), deleted.reload()])
          }}
        />
      </div>
    </>
  )
}

export const HomeScreen = () => {
  const about = useLoad(() => read<{ version: string }>('GET', '/', { headers: { Accept: 'application/json' } }), [])
  // The known databases stay shown while they are read again.
  useEffect(() => {
    if (catalogue.value !== undefined) loadCatalogue()
  }, [])
  const found = catalogue.value
  const self = session.value?.self
  const isLimited = self !== undefined && (self.kind === 'public' || self.databases !== null)
  return (
    <Screen
      title="Overview"
      actions={
        <>
          <button type="button" onClick={set(overlay, { kind: 'connect' })}>
            Connect from code
          </button>
          {canWrite.value && (found?.databases.length ?? 0) > 0 && (
            <button type="button" class="filled" onClick={set(overlay, { kind: 'createTable' })}>
              Create a table
            </button>
          )}
        </>
      }
    >
      <div class="pad wide">
        {isLimited && (
          <p class="muted">
            {describeOwn(self)}
            {self.kind === 'public' &&
              ' It does not list tasks and deleted things. Runs are read by the name of their task, under Tasks of a database.'}
          </p>
        )}
        {catalogueError.value !== undefined && <ErrorBox error={catalogueError.value} retry={loadCatalogue} />}
        {found === undefined && catalogueError.value === undefined && <LatePlaceholder />}
        {found && <Overview databases={found.databases} />}
        <p class="muted">{about.value.value && `Cubby ${about.value.value.version}`}</p>
      </div>
    </Screen>
  )
}
