import { signal } from '@preact/signals'
import type { RunStatus } from './api/types.ts'

// Hash routes. Each part is percent-encoded; a part with a leading `_` is never the name of a database or table. Behind a `?`
// stands what the screen shows: the query of a table, the folder of a bucket.

export type Route =
  | { screen: 'home' }
  | { screen: 'database'; db: string }
  | { screen: 'table'; db: string; table: string; query?: string }
  | { screen: 'record'; db: string; table: string; hashKey: string; rangeKey?: string; query?: string }
  | { screen: 'newRecord'; db: string; table: string }
  | { screen: 'about'; db: string; table: string }
  | { screen: 'buckets'; db: string }
  | { screen: 'bucket'; db: string; bucket: string; query?: string }
  | { screen: 'file'; db: string; bucket: string; name: string }
  | { screen: 'tasks'; db: string }
  /** `status` limits the runs to those that have it. */
  | { screen: 'task'; db: string; task: string; status?: RunStatus }
  | { screen: 'run'; db: string; task: string; run: string }
  | { screen: 'keys' }
  | { screen: 'pad' }
  /** `db` and `table` fill in the form. */
  | { screen: 'import'; db?: string; table?: string }
  | { screen: 'unknown'; hash: string }

const partsOf = (route: Route): string[] => {
  switch (route.screen) {
    case 'home':
      return []
    case 'database':
      return [route.db]
    case 'table':
      return [route.db, route.table]
    case 'record':
      return [route.db, route.table, 'r', route.hashKey, ...(route.rangeKey === undefined ? [] : [route.rangeKey])]
    case 'newRecord':
      return [route.db, route.table, '_new']
    case 'about':
      return [route.db, route.table, '_about']
    case 'buckets':
      return [route.db, '_buckets']
    case 'bucket':
      return [route.db, '_buckets', route.bucket]
    case 'file':
      return [route.db, '_buckets', route.bucket, 'f', route.name]
    case 'tasks':
      return [route.db, '_tasks']
    case 'task':
      return [route.db, '_tasks', route.task, ...(route.status === undefined ? [] : [route.status])]
    case 'run':
      return [route.db, '_tasks', route.task, 'r', route.run]
    case 'keys':
    case 'pad':
      return [`_${route.screen}`]
    case 'import':
      return [
        '_import',
        ...(route.db === undefined ? [] : [route.db, ...(route.table === undefined ? [] : [route.table])]),
      ]
    case 'unknown':
      return []
  }
}

export const hrefOf = (route: Route): string => {
  const query = 'query' in route && route.query ? `?${route.query}` : ''
  return `#/${partsOf(route).map(encodeURIComponent).join('/')}${query}`
}

const decodedParts = (hash: string): string[] | undefined => {
  try {
    const path = hash.replace(/^#?\/?/, '')
    return path === '' ? [] : path.split('/').map(decodeURIComponent)
  } catch {
    return undefined
  }
}

/** The statuses of runs, in the order in which the screens show them. */
export const statuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const satisfies RunStatus[]

const pages = new Set(['keys', 'pad'])

const routeOfParts = (parts: string[]): Route | undefined => {
  const [db, second, third, fourth, fifth] = parts
  const count = parts.length
  if (db === undefined) return { screen: 'home' }
  // Browsers drop `.` and `..` from the paths of requests, which would then name something else.
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined
  if (db.startsWith('_')) {
    const page = db.slice(1)
    if (page === 'import' && count <= 3) return { screen: 'import', db: second, table: third }
    return count === 1 && pages.has(page) ? { screen: page as 'keys' | 'pad' } : undefined
  }
  if (second === undefined) return { screen: 'database', db }
  if (second === '_buckets') {
    if (third === undefined) return { screen: 'buckets', db }
    if (count === 3) return { screen: 'bucket', db, bucket: third }
    return fourth === 'f' && count === 5 ? { screen: 'file', db, bucket: third, name: fifth! } : undefined
  }
  if (second === '_tasks') {
    if (third === undefined) return { screen: 'tasks', db }
    if (count === 3) return { screen: 'task', db, task: third }
    const status = statuses.find((each) => each === fourth)
    if (count === 4 && status) return { screen: 'task', db, task: third, status }
    return fourth === 'r' && count === 5 ? { screen: 'run', db, task: third, run: fifth! } : undefined
  }
  if (second.startsWith('_')) return undefined
  if (third === undefined) return { screen: 'table', db, table: second }
  if (third === '_new' && count === 3) return { screen: 'newRecord', db, table: second }
  if (third === '_about' && count === 3) return { screen: 'about', db, table: second }
  if (third !== 'r' || fourth === undefined || count > 5) return undefined
  return { screen: 'record', db, table: second, hashKey: fourth, rangeKey: fifth }
}

/** `query` is the text behind the `?`, as it is. */
const withQuery = (route: Route | undefined, query: string): Route | undefined =>
  route?.screen === 'table' || route?.screen === 'record' || route?.screen === 'bucket'
    ? { ...route, query }
    : undefined

export const routeOf = (hash: string): Route => {
  const at = hash.indexOf('?')
  const parts = decodedParts(at === -1 ? hash : hash.slice(0, at))
  const route = parts && routeOfParts(parts)
  return (at === -1 ? route : withQuery(route, hash.slice(at + 1))) ?? { screen: 'unknown', hash }
}

/** The names and values of a query, in their order; undefined if it is not made of `name=value`. */
export const readQuery = (query: string): [name: string, value: string][] | undefined => {
  try {
    return query.split('&').map((part) => {
      const at = part.indexOf('=')
      if (at === -1) throw new URIError(part)
      return [decodeURIComponent(part.slice(0, at)), decodeURIComponent(part.slice(at + 1))]
    })
  } catch {
    return undefined
  }
}

export const writeQuery = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')

/** Read when the router starts, not before: the fragment may be a sign-in link at first. */
export const route = signal<Route>({ screen: 'home' })

type Guard = () => boolean
const guards = new Set<Guard>()
/** The address that the reader wants to go to while text is unsaved. The app asks, then calls `leave` or `stay`. */
export const wantedHash = signal<string | undefined>(undefined)

/** `hasUnsaved` is asked before the page or the route is left. Returns what removes it. */
export const guardLeaving = (hasUnsaved: Guard): (() => void) => {
  guards.add(hasUnsaved)
  return () => guards.delete(hasUnsaved)
}

export const hasUnsaved = (): boolean => [...guards].some((hasUnsaved) => hasUnsaved())

let shownHash = ''
/** The place of the shown address in the history of the tab, counted from where the page was opened. */
let shownAt = 0
/** The steps in the history from there to the wanted address; undefined for a new address. */
let wantedSteps: number | undefined

const show = (hash: string): void => {
  shownHash = hash
  route.value = routeOf(hash)
}

export const stay = (): void => {
  wantedHash.value = undefined
}

export const leave = (): void => {
  const hash = wantedHash.value
  wantedHash.value = undefined
  guards.clear()
  if (hash === undefined) return
  if (wantedSteps === undefined) navigate(hash)
  else history.go(wantedSteps)
}

export const navigate = (to: Route | string, { replace = false } = {}): void => {
  const hash = typeof to === 'string' ? to : hrefOf(to)
  if (!replace && hash !== shownHash && hasUnsaved()) {
    wantedSteps = undefined
    wantedHash.value = hash
    return
  }
  if (replace) history.replaceState({ at: shownAt }, '', hash)
  else history.pushState({ at: ++shownAt }, '', hash)
  show(hash)
}

/** `onLink` gets the addresses that are no places of the console, and puts what is shown back into the address. */
export const startRouter = (isLink: (hash: string) => boolean, onLink: (shownHash: string) => Promise<void>): void => {
  const known: unknown = history.state?.at
  if (typeof known === 'number') shownAt = known
  history.replaceState({ at: shownAt }, '')
  const followLink = () =>
    onLink(shownHash || '#/').finally(() => {
      // Its address was a new one.
      if (history.state?.at === undefined) history.replaceState({ at: ++shownAt }, '')
      show(location.hash)
    })
  // It may have been opened while the session began.
  if (isLink(location.hash)) followLink()
  else show(location.hash)
  addEventListener('popstate', () => {
    const { state } = history
    const hash = location.hash
    if (isLink(hash)) {
      followLink()
      return
    }
    // An address that was typed is new, and follows the one that was shown.
    const at: number = state?.at ?? shownAt + 1
    if (state?.at === undefined) history.replaceState({ at }, '')
    if (hash === shownHash) {
      shownAt = at
      return
    }
    if (hasUnsaved()) {
      // The browser has already changed the address, and says so only afterwards: it goes back to where it was.
      wantedSteps = at - shownAt
      wantedHash.value = hash
      if (wantedSteps !== 0) history.go(-wantedSteps)
      return
    }
    shownAt = at
    show(hash)
  })
  addEventListener('beforeunload', (event) => {
    if (hasUnsaved()) event.preventDefault()
  })
}
