import type { AnyOperation } from '../../operations/operation.ts'
import type { SchemaName } from '../../operations/schemas.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

/**
 * How HTTP asks for an operation. Of its input the path carries the members that it names, the query string those in
 * `query`, and the body the rest; `ifUpdatedAt` comes as If-Match or If-None-Match.
 */
export interface OperationRoute {
  readonly operation: AnyOperation
  readonly method: Method
  /** On several, it does the same on each. */
  readonly paths: readonly string[]
  readonly query?: readonly string[]
  readonly body?: {
    /** The name of its schema. */
    readonly schema: SchemaName
    readonly required: boolean
    readonly bytesMax: number
  }
}

export const pathParameters = (path: string): string[] => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name!)

/** The last segment of a path when it is a word, not a parameter: the hash key of a record of that name. */
export const literalHashKey = (path: string): string | undefined => /^\/v1\/:db\/:table\/([a-z]+)$/.exec(path)?.[1]

/** The path that takes as much of the input as there is. A word in the place of a key would be a key of its own. */
const pathFor = ({ paths }: OperationRoute, input: Readonly<Record<string, unknown>>): string => {
  const fits = (path: string): number =>
    pathParameters(path).reduce((sum, name) => sum + (input[name] === undefined ? -1 : 1), 0)
  const [main, ...others] = paths
  const withoutWords = others.filter((path) => literalHashKey(path) === undefined)
  return withoutWords.reduce((best, path) => (fits(path) > fits(best) ? path : best), main!)
}

/** Path and query string for an input; what it does not say stays as `:db`. */
export const targetFor = (route: OperationRoute, input: Readonly<Record<string, unknown>>): string => {
  const path = pathFor(route, input).replace(/:(\w+)/g, (parameter, name: string) =>
    input[name] === undefined ? parameter : encodeURIComponent(String(input[name])),
  )
  const query = (route.query ?? []).filter((name) => input[name] !== undefined).map((name) => `${name}=${input[name]}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}
