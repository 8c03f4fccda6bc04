import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
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
  openedDatabasesMax,
  opening,
  refreshCounts,
  unreadDatabases,
} from '../state/catalogue.ts'
import { overlay } from '../state/overlay.ts'
import { preference, setPreference } from '../state/preferences.ts'
import { runCounts } from '../state/run-counts.ts'
import { canManageKeys, canWrite, isKept, keepInTab, session, signOut } from '../state/session.ts'
import { showInstant } from '../text/instant.ts'
import { set } from './action.tsx'
import { ErrorBox } from './error-box.tsx'
import { Confirm } from './form.tsx'

// The list on the left: the account, a filter, the databases with what is in them, and the pages of no database.

const failedOf = (db: string, { tasks }: Contents): string[] =>
  tasks.flatMap(({ task }) => runCounts.value.get(`${db}/${task}`)?.failed || [])

/** The number of failed runs of all tasks in a database, as text; empty if none has failed. */
export const failedSum = (db: string, found: Contents): string => {
  const failed = failedOf(db, found)
  const sum = failed.reduce((total, count) => total + Number(count.replaceAll(/\D/g, '')), 0)
  return sum === 0 ? '' : `${sum.toLocaleString('en')}${failed.some((count) => count.endsWith('+')) ? '+' : ''}`
}

/** The number in red, with the word: never colour alone. */
export const FailedCount = ({ count }: { count: string | undefined }) =>
  count ? <strong class="failed-count">{count} failed</strong> : null

/** The line below a filtered list: a filter finds only what was read. */
export const UnreadDatabases = ({ class: className }: { class: string }) => {
  const unread = unreadDatabases.value
  if (unread.length === 0) return null
  const count = unread.length === 1 ? '1 further database' : `${unread.length.toLocaleString('en')} further databases`
  return (
    <p class={className}>
      The contents of {count} have not been read.{' '}
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
  return current === href || current.startsWith(`${href}/`) || current.startsWith(`${href}?`)
}

/** The entries of a database that are listed. The filter finds the others. */
const listedMax = 200

const EntryLink = ({ db, entry }: { db: string; entry: Entry }) => {
  const isHere = isCurrent(entry.to, route.value)
  const link = useRef<HTMLAnchorElement>(null)
  useEffect(() => {
    if (isHere) link.current!.scrollIntoView({ block: 'nearest' })
  }, [isHere])
  const counts = entry.kind === 'task' ? runCounts.value.get(`${db}/${entry.name}`) : undefined
  return (
    <a ref={link} class="rail-entry" href={hrefOf(entry.to)} aria-current={isHere ? 'page' : undefined}>
      <span class="rail-name">{entry.name}</span>
      {entry.kind !== 'table' && (
        <small>
          {entry.kind}
          {counts?.queued && ` · ${counts.queued}`} <FailedCount count={counts?.failed} />
        </small>
      )}
    </a>
  )
}

interface DatabasePartProps {
  db: string
  filter: string
  isOpen: boolean
  fold: (isOpen: boolean) => void
}

const DatabasePart = ({ db, filter, isOpen, fold }: DatabasePartProps) => {
  const at = route.value
  const isHere = 'db' in at && at.db === db
  const found = contents.value.get(db)
  const listId = useId()
  useEffect(() => {
    if ((isHere || isOpen) && found === undefined && !opening.value.has(db)) loadContents(db)
  }, [isHere, isOpen])
  const all = found && !('error' in found) ? entriesOf(db, found) : []
  // A public key lists no tasks, and sees the one that is open.
  if (!canWrite.value && 'task' in at && isHere)
    all.push({ name: at.task, kind: 'task', to: { screen: 'task', db, task: at.task } })
  const matching = filter === '' || db.includes(filter) ? all : all.filter(({ name }) => name.includes(filter))
  const isListed = isOpen || filter !== ''
  // The place where the reader is is always listed.
  const listed = matching.filter(({ to }, i) => (isListed && i < listedMax) || isCurrent(to, at))
  if (filter !== '' && matching.length === 0 && !db.includes(filter)) return null
  return (
    <li>
      <div class="rail-line">
        <button
          type="button"
          class="quiet rail-fold"
          aria-expanded={isListed}
          aria-controls={listId}
          aria-label={`Contents of ${db}`}
          onClick={() => fold(!isOpen)}
        />
        <a
          class="rail-db"
          href={hrefOf({ screen: 'database', db })}
          aria-current={at.screen === 'database' && isHere ? 'page' : undefined}
        >
          <span class="rail-name">{db}</span>
          {!isListed && found && 'tasks' in found && (
            <small>
              <FailedCount count={failedSum(db, found)} />
            </small>
          )}
        </a>
      </div>
      {found && 'error' in found && <ErrorBox error={found.error} retry={() => loadContents(db)} />}
      <ul id={listId}>
        {listed.map((entry) => (
          <li key={`${entry.kind} ${entry.name}`}>
            <EntryLink db={db} entry={entry} />
          </li>
        ))}
        {!canWrite.value && isListed && filter === '' && (
          <li>
            <a
              class="rail-entry"
              href={hrefOf({ screen: 'tasks', db })}
              aria-current={at.screen === 'tasks' && isHere ? 'page' : undefined}
            >
              <span class="rail-name">Tasks</span>
              <small>by name</small>
            </a>
          </li>
        )}
      </ul>
      {isListed && matching.length > listed.length && (
        <p class="rail-note">{matching.length - listed.length} more: use the filter</p>
      )}
      {isListed && found && 'isCut' in found && found.isCut && (
        <p class="rail-note">Only the first 1,000 of a kind are listed.</p>
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
          {expiresAt !== null && `, expires ${showInstant(expiresAt).utc}`}
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
        <Confirm
          title="Sign out without saving?"
          action="Sign out"
          isDangerous={false}
          run={signOut}
          onClose={set(isAsking, false)}
        >
          <p>
            The text on this page is not saved. Your changes are kept as a draft until you close the tab, for a key of
            the same organization.
          </p>
        </Confirm>
      )}
    </details>
  )
}

/** The databases that the reader has opened or closed. The others are open if there are few. */
const useFolds = () => {
  const name = `folds.${session.value?.self.organization}`
  const folds = useSignal<Record<string, boolean>>(preference(name, {}))
  const isOpen = (db: string, at: number): boolean =>
    (Object.hasOwn(folds.value, db) ? folds.value[db] : undefined) ?? at < openedDatabasesMax
  const fold = (db: string, isOpen: boolean): void => {
    folds.value = { ...folds.value, [db]: isOpen }
    setPreference(name, folds.value)
  }
  return { isOpen, fold }
}

export const Rail = () => {
  const filter = useSignal('')
  const isOpen = useSignal(false)
  const folds = useFolds()
  const at = route.value
  useEffect(() => {
    isOpen.value = false
    refreshCounts()
  }, [at])
  useEffect(() => {
    document.addEventListener('visibilitychange', refreshCounts)
    return () => document.removeEventListener('visibilitychange', refreshCounts)
  }, [])
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
          placeholder="Filter"
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
        <div class="rail-jump">
          <button type="button" onClick={set(overlay, { kind: 'jump' })}>
            Jump to… <kbd>Ctrl K</kbd>
          </button>
          <button type="button" aria-label="Keys of the keyboard" onClick={set(overlay, { kind: 'keys' })}>
            ?
          </button>
        </div>
        <nav aria-label="Databases">
          {catalogueError.value !== undefined && <ErrorBox error={catalogueError.value} retry={loadCatalogue} />}
          <ul class="rail-list">
            {found?.databases.map((db, index) => (
              <DatabasePart
                key={db}
                db={db}
                filter={filter.value}
                isOpen={folds.isOpen(db, index)}
                fold={(open) => folds.fold(db, open)}
              />
            ))}
          </ul>
          {filter.value !== '' && <UnreadDatabases class="rail-note" />}
          {found?.isCut && <p class="rail-note">Only the first 1,000 databases are listed.</p>}
        </nav>
        <nav class="rail-foot" aria-label="Pages">
          <a class="rail-entry" href="#/" aria-current={at.screen === 'home' ? 'page' : undefined}>
            Overview
          </a>
          {canWrite.value && (
            <a class="rail-entry" href="#/_import" aria-current={at.screen === 'import' ? 'page' : undefined}>
              Import
            </a>
          )}
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
