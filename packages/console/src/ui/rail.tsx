import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { basePath } from '../api/request.ts'
import { hasUnsaved, hrefOf, type Route, route } from '../router.ts'
import {
  type Contents,
  catalogue,
  catalogueError,
  contents,
  loadAllContents,
  loadCatalogue,
  loadContents,
  opening,
  unreadDatabases,
} from '../state/catalogue.ts'
import { canManageKeys, isKept, keepInTab, session, signOut } from '../state/session.ts'
import { waitingRuns } from '../state/waiting-runs.ts'
import { set } from './action.tsx'
import { ErrorBox } from './error-box.tsx'
import { Confirm } from './form.tsx'

// On the left: who is signed in, a filter, the databases with what is in them, and the pages of no database.

/** Below a filtered list: a filter finds only what was read. */
export const UnreadDatabases = ({ class: className }: { class: string }) => {
  const unread = unreadDatabases.value
  if (unread.length === 0) return null
  const count = unread.length === 1 ? '1 further database' : `${unread.length.toLocaleString('en')} further databases`
  return (
    <p class={className}>
      What is in {count} has not been read.{' '}
      <button type="button" class="link" onClick={() => loadAllContents(unread)}>
        Look into them
      </button>
    </p>
  )
}

interface Entry {
  name: string
  kind: 'table' | 'bucket' | 'task'
  to: Route
}

export const entriesOf = (db: string, { tables, buckets, tasks }: Contents): Entry[] => [
  ...tables.map(({ table }): Entry => ({ name: table, kind: 'table', to: { screen: 'table', db, table } })),
  ...buckets.map(({ bucket }): Entry => ({ name: bucket, kind: 'bucket', to: { screen: 'bucket', db, bucket } })),
  ...tasks.map(({ task }): Entry => ({ name: task, kind: 'task', to: { screen: 'task', db, task } })),
]

const isCurrent = (to: Route, at: Route): boolean => {
  const href = hrefOf(to)
  const current = hrefOf(at)
  return current === href || current.startsWith(`${href}/`)
}

/** So many entries of a database are listed before the reader has to open it. */
const listedMax = 200

const EntryLink = ({ db, entry }: { db: string; entry: Entry }) => {
  const isHere = isCurrent(entry.to, route.value)
  const link = useRef<HTMLAnchorElement>(null)
  useEffect(() => {
    if (isHere) link.current!.scrollIntoView({ block: 'nearest' })
  }, [isHere])
  const waiting = entry.kind === 'task' ? waitingRuns.value.get(`${db}/${entry.name}`) : undefined
  return (
    <a ref={link} class="rail-entry" href={hrefOf(entry.to)} aria-current={isHere ? 'page' : undefined}>
      <span class="rail-name">{entry.name}</span>
      {entry.kind !== 'table' && (
        <small>
          {entry.kind}
          {waiting !== undefined && waiting !== '0' && ` · ${waiting}`}
        </small>
      )}
    </a>
  )
}

const DatabasePart = ({ db, filter }: { db: string; filter: string }) => {
  const at = route.value
  const isHere = 'db' in at && at.db === db
  const found = contents.value.get(db)
  useEffect(() => {
    if (isHere && found === undefined) loadContents(db)
  }, [isHere])
  const all = found && !('error' in found) ? entriesOf(db, found) : []
  const matching = filter === '' || db.includes(filter) ? all : all.filter(({ name }) => name.includes(filter))
  // Where the reader is, is always listed.
  const listed = matching.filter(({ to }, i) => i < listedMax || isCurrent(to, at))
  if (filter !== '' && matching.length === 0 && !db.includes(filter)) return null
  return (
    <li>
      <a
        class="rail-db"
        href={hrefOf({ screen: 'database', db })}
        aria-current={at.screen === 'database' && isHere ? 'page' : undefined}
      >
        {db}
      </a>
      {found && 'error' in found && <ErrorBox error={found.error} retry={() => loadContents(db)} />}
      <ul>
        {listed.map((entry) => (
          <li key={`${entry.kind} ${entry.name}`}>
            <EntryLink db={db} entry={entry} />
          </li>
        ))}
      </ul>
      {matching.length > listed.length && (
        <p class="rail-note">{matching.length - listed.length} more: use the filter</p>
      )}
      {found && 'isCut' in found && found.isCut && <p class="rail-note">Only the first 1,000 of a kind are listed.</p>}
      {found === undefined && !isHere && !opening.value.has(db) && (
        <button type="button" class="link rail-note" onClick={() => loadContents(db)}>
          Show its tables
        </button>
      )}
    </li>
  )
}

const Account = () => {
  const current = session.value
  const isAsking = useSignal(false)
  if (current === undefined) return null
  const { organization, kind, masked, expiresAt } = current.self
  return (
    <details
      class="account"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !event.currentTarget.open) return
        event.currentTarget.open = false
        event.currentTarget.querySelector('summary')!.focus()
      }}
    >
      <summary>
        <span class="mark" aria-hidden="true" />
        <span class="account-name">{organization}</span>
        <small>
          {kind} ·{masked.slice(-4)}
        </small>
      </summary>
      <div class="account-menu">
        <p>
          Key <code>{masked}</code>
          {expiresAt !== null && `, expires ${new Date(expiresAt).toLocaleString()}`}
        </p>
        {kind === 'public' && <p>A public key reads. Sign in with a secret key to change anything.</p>}
        <label class="check">
          <input type="checkbox" checked={isKept} onChange={(event) => keepInTab(event.currentTarget.checked)} />
          Keep in this tab
        </label>
        <button
          type="button"
          onClick={() => {
            if (hasUnsaved()) isAsking.value = true
            else signOut()
          }}
        >
          Sign out
        </button>
      </div>
      {isAsking.value && (
        <Confirm title="Sign out without saving?" action="Sign out" run={signOut} onClose={set(isAsking, false)}>
          <p>
            The text on this page is not saved. Your changes are kept as a draft until you close the tab, for a key of
            the same organization.
          </p>
        </Confirm>
      )}
    </details>
  )
}

export const Rail = () => {
  const filter = useSignal('')
  const isOpen = useSignal(false)
  const at = route.value
  useEffect(() => {
    isOpen.value = false
  }, [at])
  const found = catalogue.value
  const menu = useRef<HTMLButtonElement>(null)
  return (
    <aside
      class={isOpen.value ? 'rail open' : 'rail'}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen.value) return
        isOpen.value = false
        menu.current!.focus()
      }}
    >
      <div class="rail-top">
        <button
          type="button"
          ref={menu}
          class="rail-menu"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value
          }}
        >
          Menu
        </button>
        <Account />
      </div>
      <div class="rail-body">
        <input
          type="search"
          class="rail-filter"
          placeholder="Filter  /"
          aria-label="Filter databases, tables, buckets and tasks"
          data-focus-key="/"
          value={filter}
          onInput={(event) => {
            filter.value = event.currentTarget.value.trim().toLowerCase()
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') {
              filter.value = ''
              event.currentTarget.value = ''
            }
          }}
        />
        <nav aria-label="Databases">
          {catalogueError.value !== undefined && <ErrorBox error={catalogueError.value} retry={loadCatalogue} />}
          <ul class="rail-list">
            {found?.databases.map((db) => (
              <DatabasePart key={db} db={db} filter={filter.value} />
            ))}
          </ul>
          {filter.value !== '' && <UnreadDatabases class="rail-note" />}
          {found?.isCut && <p class="rail-note">Only the first 1,000 databases are listed.</p>}
        </nav>
        <nav class="rail-foot" aria-label="Pages">
          <a class="rail-entry" href="#/" aria-current={at.screen === 'home' ? 'page' : undefined}>
            All databases
          </a>
          {canManageKeys.value && (
            <a class="rail-entry" href="#/_keys" aria-current={at.screen === 'keys' ? 'page' : undefined}>
              Keys
            </a>
          )}
          <a class="rail-entry" href="#/_pad" aria-current={at.screen === 'pad' ? 'page' : undefined}>
            Request pad
          </a>
          <a class="rail-entry" href={`${basePath}/docs`} target="_blank" rel="noreferrer">
            Docs
          </a>
        </nav>
      </div>
    </aside>
  )
}
