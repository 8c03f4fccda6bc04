import { type Hint, type HintLanguage, type HintPart, hintText, type SuggestedCall } from '../core/hint.ts'
import { filePath } from './routes/file-paths.ts'
import { findRoute, operationRoutes } from './routes/operation-routes.ts'
import { type OperationRoute, targetFor } from './routes/route.ts'

/** Names in the path of the request. */
export interface Names {
  readonly db?: string
  readonly table?: string
  readonly bucket?: string
  readonly task?: string
  /** In requests for items, which name both at once. */
  readonly collection?: string
}

/** A call that names no database, table, bucket or task means those of the request. */
const http = (names: Names): HintLanguage => ({
  call({ operation, input }) {
    const route = findRoute(operation)
    return route === undefined ? operation : `${route.method} ${targetFor(route, { ...names, ...input })}`
  },
  send: (members) =>
    `{ ${Object.entries(members)
      .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
      .join(', ')} }`,
  give: () => 'add it to the path',
  repeatLater: 'Repeat the request after the time in Retry-After',
})

export const httpHint = (hint: Hint | undefined, names: Names = {}): string | undefined =>
  hint === undefined ? undefined : hintText(hint, http(names))

/** Where a caller who is lost reads on. Only HTTP has this page. */
export const docsNote = 'The API is documented at /docs.'

// ── The reverse, for shell commands that get errors from a server ──────────────────────────────────────────

const written =
  /(?:GET|PUT|POST|PATCH|DELETE) \/(?:v1|api)(?:[^\s,;)]*[^\s,;).])?|\{ "\w+": -?\d+ \}|Repeat the request after the time in Retry-After|add it to the path/g

/**
 * What Cubby's own hints name. A server can send anything, and a user may paste what a command suggests into a shell: a call
 * with any other value stays as it was written.
 */
const plainValue = /^[A-Za-z0-9_-]+$/

/** The name of a file is the rest of a path. One with other characters is left out: the call is named without it. */
const plainFileName = /^[A-Za-z0-9_./-]+$/

const readFilePath = (wanted: string): Record<string, string> | undefined => {
  const [, db, bucket, name] = /^\/v1\/([^/]+)\/_buckets\/([^/]+)\/(.+)$/.exec(wanted) ?? []
  if (db === undefined) return undefined
  const input: Record<string, string> = {}
  // One that is still a parameter is not known.
  if (db !== ':db') input.db = db
  if (bucket !== ':bucket') input.bucket = bucket!
  if (!Object.values(input).every((value) => plainValue.test(value))) return undefined
  return name !== ':name' && plainFileName.test(name!) ? { ...input, name: name! } : input
}

const readPath = (path: string, wanted: string): Record<string, string> | undefined => {
  const segments = wanted.split('/')
  const input: Record<string, string> = {}
  const fits = path.split('/').every((part, i) => {
    const segment = segments[i]
    if (segment === undefined || !part.startsWith(':')) return part === segment
    if (segment === part) return true
    input[part.slice(1)] = segment
    return plainValue.test(segment)
  })
  return fits && path.split('/').length === segments.length ? input : undefined
}

/** As in the router, `_buckets` is not the name of a table. */
const byFixedSegment = Object.values<OperationRoute>(operationRoutes).sort(
  (a, b) => Number(b.paths[0]!.includes('/_')) - Number(a.paths[0]!.includes('/_')),
)

const readCall = (text: string): SuggestedCall | undefined => {
  const [, method, path, query] = /^(\w+) ([^?]*)\??(.*)$/.exec(text)!
  for (const route of byFixedSegment) {
    if (route.method !== method) continue
    for (const candidate of route.paths) {
      const input = candidate === filePath ? readFilePath(path!) : readPath(candidate, path!)
      if (input === undefined) continue
      // What the request always has is not part of the input.
      const always = route.queryAlways ?? {}
      const parameters = [...new URLSearchParams(query)].filter(([name]) => !(name in always))
      if (!parameters.every(([, value]) => plainValue.test(value))) return undefined
      return { operation: route.operation.id, input: { ...input, ...Object.fromEntries(parameters) } }
    }
  }
  return undefined
}

const readPart = (text: string): HintPart => {
  if (text.startsWith('{')) return { send: JSON.parse(text) }
  if (text.startsWith('Repeat')) return { repeat: 'later' }
  if (text.startsWith('add')) return { give: 'rangeKey' }
  return readCall(text) ?? text
}

/** Parses a hint in HTTP words back into parts. */
export const readHttpHint = (whole: string): Hint => {
  const text = whole.replace(docsNote, '').trimEnd()
  const parts: HintPart[] = []
  let from = 0
  for (const { 0: found, index } of text.matchAll(written)) {
    parts.push(text.slice(from, index), readPart(found))
    from = index + found.length
  }
  return parts.length === 0 ? text : [...parts, text.slice(from)].filter((part) => part !== '')
}
