import type { AnyOperation } from '../../operations/operation.ts'

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
    readonly schema: string
    readonly required: boolean
    readonly bytesMax: number
  }
}

export const pathParameters = (path: string): string[] => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name!)

/** The last segment of a path when it is a word, not a parameter: the hash key of a record of that name. */
export const literalHashKey = (path: string): string | undefined => /^\/v1\/:db\/:table\/([a-z]+)$/.exec(path)?.[1]
