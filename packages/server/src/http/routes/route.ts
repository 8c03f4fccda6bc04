import { encodeFileName } from '../../core/files/file-url.ts'
import type { AnyOperation } from '../../operations/operation.ts'
import type { SchemaName } from '../../operations/schemas.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/**
 * The HTTP request for an operation. The members of its input are in the path (those that it names), in the query string
 * (those in `query`) or in the body (all others, or the one that is the whole body). `ifUpdatedAt` is sent as If-Match or
 * If-None-Match.
 */
export interface OperationRoute {
  readonly operation: AnyOperation
  readonly method: Method
  /** The operation does the same on each path. */
  readonly paths: readonly string[]
  readonly query?: readonly string[]
  /** Sent with every request: without it, the answer of this route is another than the operation's. */
  readonly queryAlways?: Readonly<Record<string, string | boolean>>
  /** The member of the input that is the body as it is: bytes, not JSON. */
  readonly bytes?: string
  readonly body?: {
    /** The name of its schema. */
    readonly schema: SchemaName
    readonly required: boolean
    readonly bytesMax: number
    /** The member that the whole body is. Absent: the body is an object with the members that are nowhere else. */
    readonly member?: string
  }
}

export const pathParameters = (path: string): string[] => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name!)

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

/** The path that contains most of the input. Paths with a fixed word are excluded: the word would be another key. */
const pathFor = ({ paths }: OperationRoute, input: Readonly<Record<string, unknown>>): string => {
  const fits = (path: string): number =>
    pathParameters(path).reduce((sum, name) => sum + (input[name] === undefined ? -1 : 1), 0)
  const [main, ...others] = paths
  const withoutWords = others.filter((path) => literalHashKey(path) === undefined)
  return withoutWords.reduce((best, path) => (fits(path) > fits(best) ? path : best), main!)
}

/** The name of a file has several segments, all others have one. */
export const encodeParameter = (name: string, value: string): string =>
  name === 'name' ? encodeFileName(value) : encodeURIComponent(value)

/** An object is sent as JSON. */
export const queryText = (value: unknown): string =>
  encodeURIComponent(typeof value === 'object' ? JSON.stringify(value) : String(value))

/** Path and query string for an input. A missing member stays a parameter, such as `:db`. */
export const targetFor = (route: OperationRoute, input: Readonly<Record<string, unknown>>): string => {
  const path = pathFor(route, input).replace(/:(\w+)/g, (parameter, name: string) =>
    input[name] === undefined ? parameter : encodeParameter(name, String(input[name])),
  )
  const given = (route.query ?? []).filter((name) => input[name] !== undefined)
  const query = [
    ...given.map((name) => `${name}=${queryText(input[name])}`),
    ...Object.entries(route.queryAlways ?? {}).map(([name, value]) => `${name}=${value}`),
  ]
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}
