import { type HttpMethod, httpMethods, type OpenApiDocument, type OperationObject } from '../types.ts'

/** A section of the page: one operation on one path. */
export interface Entry {
  method: HttpMethod
  path: string
  operation: OperationObject
  /** Special cases of it on other paths. */
  also: { path: string; operation: OperationObject }[]
}

export const entriesOf = (document: OpenApiDocument): Entry[] => {
  const all = Object.entries(document.paths).flatMap(([path, item]) =>
    httpMethods.flatMap((method): Entry[] => {
      const operation = item[method]
      return operation === undefined ? [] : [{ method, path, operation, also: [] }]
    }),
  )
  const entries = all.filter(({ operation }) => operation['x-same-as'] === undefined)
  for (const entry of entries) {
    entry.also = all.filter(({ operation }) => operation['x-same-as'] === entry.operation.operationId)
  }
  return entries
}
