import { signal } from '@preact/signals'

// Hash routes. Each part is percent-encoded; a part with a leading `_` is never the name of a database or table.

export type Route =
  | { screen: 'home' }
  | { screen: 'database'; db: string }
  | { screen: 'table'; db: string; table: string }
  | { screen: 'record'; db: string; table: string; hashKey: string; rangeKey?: string }
  | { screen: 'newRecord'; db: string; table: string }
  | { screen: 'about'; db: string; table: string }
  | { screen: 'buckets'; db: string }
  | { screen: 'bucket'; db: string; bucket: string }
  | { screen: 'file'; db: string; bucket: string; name: string }
  | { screen: 'tasks'; db: string }
  | { screen: 'task'; db: string; task: string }
  | { screen: 'run'; db: string; task: string; run: string }
  | { screen: 'keys' }
  | { screen: 'pad' }
  | { screen: 'import' }
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
      return [route.db, '_tasks', route.task]
    case 'run':
      return [route.db, '_tasks', route.task, 'r', route.run]
    case 'keys':
    case 'pad':
    case 'import':
      return [`_${route.screen}`]
    case 'unknown':
      return []
  }
}

export const hrefOf = (route: Route): string => `#/${partsOf(route).map(encodeURIComponent).join('/')}`

const decodedParts = (hash: string): string[] | undefined => {
  try {
    const path = hash.replace(/^#?\/?/, '')
    return path === '' ? [] : path.split('/').map(decodeURIComponent)
  } catch {
    return undefined
  }
}

const pages = new Set(['keys', 'pad', 'import'])

const routeOfParts = (parts: string[]): Route | undefined => {
  const [db, second, third, fourth, fifth] = parts
  const count = parts.length
  if (db === undefined) return { screen: 'home' }
  // Browsers drop `.` and `..` from the paths of requests, which would then name something else.
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined
  if (db.startsWith('_')) {
    const page = db.slice(1)
    return count === 1 && pages.has(page) ? { screen: page as 'keys' | 'pad' | 'import' } : undefined
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
    return fourth === 'r' && count === 5 ? { screen: 'run', db, task: third, run: fifth! } : undefined
  }
  if (second.startsWith('_')) return undefined
  if (third === undefined) return { screen: 'table', db, table: second }
  if (third === '_new' && count === 3) return { screen: 'newRecord', db, table: second }
  if (third === '_about' && count === 3) return { screen: 'about', db, table: second }
  if (third !== 'r' || fourth === undefined || count > 5) return undefined
  return { screen: 'record', db, table: second, hashKey: fourth, rangeKey: fifth }
}

export const routeOf = (hash: string): Route => {
  const parts = decodedParts(hash)
  return (parts && routeOfParts(parts)) ?? { screen: 'unknown', hash }
}

/** Read when the router starts, not before: the fragment may be a sign-in link at first. */
export const route = signal<Route>({ screen: 'home' })

type Guard = () => boolean
const guards = new Set<Guard>()
/** Where the reader wants to go while text is unsaved. The app asks, then calls `leave` or `stay`. */
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
/** How far from there the reader wants to go; undefined: to a new address. */
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
