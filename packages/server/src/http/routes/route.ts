import type { AnyOperation } from '../../operations/operation.ts'
import type { SchemaName } from '../../operations/schemas.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

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

/** Path and query string for an input. A missing member stays a parameter, such as `:db`. */
export const targetFor = (route: OperationRoute, input: Readonly<Record<string, unknown>>): string => {
  const path = pathFor(route, input).replace(/:(\w+)/g, (parameter, name: string) =>
    input[name] === undefined ? parameter : encodeURIComponent(String(input[name])),
  )
  const query = (route.query ?? [])
    .filter((name) => input[name] !== undefined)
    .map((name) => `${name}=${encodeURIComponent(String(input[name]))}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}
