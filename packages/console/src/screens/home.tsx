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
  opening,
  unreadDatabases,
} from '../state/catalogue.ts'
import { canWrite } from '../state/session.ts'
import { set } from '../ui/action.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { hidden, List } from '../ui/list.tsx'
import { LatePlaceholder, useLoad } from '../ui/load.tsx'
import { entriesOf, UnreadDatabases } from '../ui/rail.tsx'
import { Screen } from '../ui/screen.tsx'
import { Connect } from './connect.tsx'
import { CreateTable } from './create-table.tsx'
import { SampleButton } from './sample/sample-button.tsx'

// `#/`: every database with what is in it.

const counted = (count: number, one: string): string => `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`

const summaryOf = ({ tables, buckets, tasks, isCut }: Contents): string =>
  [
    tables.length > 0 && counted(tables.length, 'table'),
    buckets.length > 0 && counted(buckets.length, 'bucket'),
    tasks.length > 0 && counted(tasks.length, 'task'),
  ]
    .filter(Boolean)
    .join(', ') + (isCut ? ' and more' : '')

const Names = ({ db, of }: { db: string; of: Contents }) => (
  <ul class="names">
    {entriesOf(db, of).map(({ name, kind, to }) => (
      <li key={`${kind} ${name}`}>
        <a href={hrefOf(to)}>{name}</a> {kind !== 'table' && <small>{kind}</small>}
      </li>
    ))}
  </ul>
)

const DatabaseRow = ({ db }: { db: string }) => {
  const found = contents.value.get(db)
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf({ screen: 'database', db })}>{db}</a>
      </th>
      <td>
        {found === undefined && !opening.value.has(db) && (
          <button type="button" class="link" onClick={() => loadContents(db)}>
            Show what is in it
          </button>
        )}
        {found && 'error' in found && <ErrorBox error={found.error} retry={() => loadContents(db)} />}
        {found && !('error' in found) && <Names db={db} of={found} />}
      </td>
      <td class="muted nowrap from-small">{found && !('error' in found) && summaryOf(found)}</td>
    </tr>
  )
}

const matches = (db: string, filter: string): boolean => {
  const found = contents.value.get(db)
  if (filter === '' || db.includes(filter)) return true
  if (found === undefined || 'error' in found) return false
  const names = [
    ...found.tables.map(({ table }) => table),
    ...found.buckets.map(({ bucket }) => bucket),
    ...found.tasks.map(({ task }) => task),
  ]
  return names.some((name) => name.includes(filter))
}

const FirstSteps = ({ create, connect }: { create: () => void; connect: () => void }) => (
  <div class="first-steps">
    <p>
      A database holds tables of JSON records, buckets of files, and tasks. It is there as soon as something is in it.
      {canWrite.value ? ' Three ways to begin:' : ' This key only reads, and there is nothing to read yet.'}
    </p>
    <div class="steps">
      {canWrite.value && (
        <>
          <div class="step">
            <h2>Create a table</h2>
            <p>Name a database and a table. Records need no schema.</p>
            <button type="button" class="filled" onClick={create}>
              Create a table
            </button>
          </div>
          <div class="step">
            <h2>Load sample data</h2>
            <p>A shop with orders and customers to look around in. You can remove it again with one click.</p>
            <SampleButton />
          </div>
        </>
      )}
      <div class="step">
        <h2>Connect from code</h2>
        <p>The request for curl, TypeScript and agents, with this server's address.</p>
        <button type="button" onClick={connect}>
          Connect from code
        </button>
      </div>
    </div>
  </div>
)

export const HomeScreen = () => {
  const filter = useSignal('')
  const isCreating = useSignal(false)
  const isConnecting = useSignal(false)
  const about = useLoad(() => read<{ version: string }>('GET', '/', { headers: { Accept: 'application/json' } }), [])
  // What was known stays shown while it is read again.
  useEffect(() => {
    if (catalogue.value !== undefined) loadCatalogue()
  }, [])
  const found = catalogue.value
  const isEmpty = found?.databases.length === 0
  const shown = found?.databases.filter((db) => matches(db, filter.value)) ?? []
  return (
    <Screen
      title="Databases"
      actions={
        !isEmpty && (
          <>
            <button type="button" onClick={set(isConnecting, true)}>
              Connect from code
            </button>
            {canWrite.value && (
              <button type="button" class="filled" onClick={set(isCreating, true)}>
                Create a table
              </button>
            )}
          </>
        )
      }
    >
      <div class="pad">
        {catalogueError.value !== undefined && <ErrorBox error={catalogueError.value} retry={loadCatalogue} />}
        {found === undefined && catalogueError.value === undefined && <LatePlaceholder />}
        {isEmpty && <FirstSteps create={set(isCreating, true)} connect={set(isConnecting, true)} />}
        {found && !isEmpty && (
          <>
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
            <List
              class="databases"
              heads={['database', 'tables, buckets and tasks', { head: hidden('how many'), class: 'from-small' }]}
            >
              {shown.map((db) => (
                <DatabaseRow key={db} db={db} />
              ))}
            </List>
            {shown.length === 0 && unreadDatabases.value.length === 0 && (
              <p class="muted">No database, table, bucket or task has “{filter}” in its name.</p>
            )}
            {filter.value !== '' && <UnreadDatabases class="muted" />}
            {found.isCut && <p class="muted">Only the first 1,000 databases are listed.</p>}
          </>
        )}
        <p class="muted">{about.value.value && `Cubby ${about.value.value.version}`}</p>
      </div>
      {isCreating.value && <CreateTable onClose={set(isCreating, false)} />}
      {isConnecting.value && <Connect onClose={set(isConnecting, false)} />}
    </Screen>
  )
}
