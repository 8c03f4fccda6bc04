import { literalHashKey, type Method, routes } from '../http/routes.ts'
import type { KeyNeeded as Need } from '../operations/operation.ts'
import type { Example } from './examples/example.ts'
import { describedAs, type Operation, type OperationId } from './operations.ts'
import type { ParameterName } from './parameters.ts'

/** One operation on one path, with what follows from the route: whom it lets in, and what it may answer. */
export interface Place {
  id: OperationId
  operation: Operation
  method: Method | 'HEAD' | 'OPTIONS'
  path: string
  /** undefined: no key. */
  need: Need | undefined
  /** The hash key, where the path has a word in its place. */
  word?: string
}

export const placeOf = (id: OperationId, method: Place['method'], path: string, need?: Need): Place => {
  const operation = describedAs(id)
  return { id, operation, method, path, need, word: operation.summaryNamed && literalHashKey(path) }
}

export const pathParameters = (path: string): ParameterName[] =>
  Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name as ParameterName)

/** Those of the operation that fit the path: one that gives a range key belongs to the path that takes it. */
export const examplesAt = ({ operation, path, word }: Place): Example[] => {
  const takesRangeKey = pathParameters(path).includes('rangeKey')
  return operation.examples.filter(({ parameters: given = {} }) => {
    if ((given.rangeKey !== undefined) !== takesRangeKey) return false
    return word === undefined ? !verbs.has(given.hashKey) : given.hashKey === word
  })
}

const verbs = new Set<unknown>(Object.keys(routes).flatMap((path) => literalHashKey(path) ?? []))
