import type { Demand } from '../operations/authorize.ts'
import type { KeyNeeded, Method } from '../operations/operation.ts'
import { pathNames } from '../operations/parse-input.ts'
import type { HttpExample } from './examples/http-example.ts'
import { type HttpOperation, type HttpOperationId, operations } from './operations.ts'
import { type ParameterName, parameterAt } from './parameters.ts'

/** One operation on one path, with the properties of its route. */
export interface ServedOperation {
  id: HttpOperationId
  operation: HttpOperation
  method: Method | 'HEAD' | 'OPTIONS'
  path: string
  /** undefined: needs no key. */
  keyNeeded: KeyNeeded | undefined
  /** True if there are grants that allow it to a user token. */
  takesTokens: boolean
}

export const servedOperation = (
  id: HttpOperationId,
  method: ServedOperation['method'],
  path: string,
  route: Partial<Demand> = {},
): ServedOperation => {
  const { keyNeeded, grants = 'none' } = route
  return { id, operation: operations[id]!, method, path, keyNeeded, takesTokens: grants !== 'none' }
}

export const pathParameters = (path: string): ParameterName[] => pathNames(path).map((name) => parameterAt(path, name))

/**
 * The examples of the operation that fit the path: one with a range key belongs to the path with a range key, unless the
 * range key is in the query string.
 */
export const examplesAt = ({ operation, path }: ServedOperation): HttpExample[] => {
  if (operation.parameters?.includes('itemRangeKey')) return operation.examples
  const takesRangeKey = pathParameters(path).includes('rangeKey')
  return operation.examples.filter(({ parameters: given = {} }) => (given.rangeKey !== undefined) === takesRangeKey)
}
