import { encodeFileName } from '../core/files/file-url.ts'
import type { Route } from '../operations/operation.ts'
import { pathNames } from '../operations/parse-input.ts'

/** The paths of a route: without and with its last parameter, if that may be absent. */
export const pathsOf = ({ path }: Route): string[] =>
  path.endsWith('?') ? [path.slice(0, path.lastIndexOf('/')), path.slice(0, -1)] : [path]

/** The last segment of a path if it is a fixed word: the hash key of the record with that name. */
export const literalHashKey = (path: string): string | undefined => /^\/v1\/:db\/:table\/([a-z]+)$/.exec(path)?.[1]

/** A fixed last word is also a value of the parameter that other paths have in its place. */
export const literalParameter = (path: string): Readonly<Record<string, string>> | undefined => {
  const hashKey = literalHashKey(path)
  if (hashKey !== undefined) return { hashKey }
  const name = /^\/v1\/:db\/_buckets\/:bucket\/([a-z]+)$/.exec(path)?.[1]
  if (name !== undefined) return { name }
  const id = /^\/api\/keys\/([a-z]+)$/.exec(path)?.[1]
  return id === undefined ? undefined : { id }
}

/** The name of a file has several segments, all others have one. */
export const encodeParameter = (name: string, value: string): string =>
  name === 'name' ? encodeFileName(value) : encodeURIComponent(value)

/** An object is sent as JSON. */
const queryText = (value: unknown): string =>
  encodeURIComponent(typeof value === 'object' ? JSON.stringify(value) : String(value))

/** Path and query string for an input. A missing member stays a parameter, such as `:db`. */
export const targetFor = (route: Route, input: Readonly<Record<string, unknown>>): string => {
  const [main, whole = main!] = pathsOf(route)
  const chosen = input[pathNames(whole).at(-1) ?? ''] === undefined ? main! : whole
  const path = chosen.replace(/:(\w+)/g, (parameter, name: string) =>
    input[name] === undefined ? parameter : encodeParameter(name, String(input[name])),
  )
  const given = (route.query ?? []).filter((name) => input[name] !== undefined)
  const query = [
    ...given.map((name) => `${name}=${queryText(input[name])}`),
    ...Object.entries(route.queryAlways ?? {}).map(([name, value]) => `${name}=${value}`),
  ]
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}
