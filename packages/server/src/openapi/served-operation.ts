import { literalHashKey, type Method, routes } from '../http/routes.ts'
import type { KeyNeeded } from '../operations/operation.ts'
import type { HttpExample } from './examples/http-example.ts'
import { describedAs, type HttpOperation, type HttpOperationId } from './operations.ts'
import type { ParameterName } from './parameters.ts'

/** One operation on one path, with the properties of its route. */
export interface ServedOperation {
  id: HttpOperationId
  operation: HttpOperation
  method: Method | 'HEAD' | 'OPTIONS'
  path: string
  /** undefined: needs no key. */
  keyNeeded: KeyNeeded | undefined
  /** The hash key, if the path has a fixed word in its place. */
  word?: string
}

export const servedOperation = (
  id: HttpOperationId,
  method: ServedOperation['method'],
  path: string,
  keyNeeded?: KeyNeeded,
): ServedOperation => {
  const operation = describedAs(id)
  return { id, operation, method, path, keyNeeded, word: operation.summaryNamed && literalHashKey(path) }
}

export const pathParameters = (path: string): ParameterName[] =>
  Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name as ParameterName)

/** The examples of the operation that fit the path: one with a range key belongs to the path with a range key. */
export const examplesAt = ({ operation, path, word }: ServedOperation): HttpExample[] => {
  const takesRangeKey = pathParameters(path).includes('rangeKey')
  return operation.examples.filter(({ parameters: given = {} }) => {
    if ((given.rangeKey !== undefined) !== takesRangeKey) return false
    return word === undefined ? !verbs.has(given.hashKey) : given.hashKey === word
  })
}

const verbs = new Set<unknown>(Object.keys(routes).flatMap((path) => literalHashKey(path) ?? []))
