import { type HttpMethod, httpMethods, type OpenApiDocument, type OperationObject } from '../types.ts'

/** A section of the page: one operation on one path. */
export interface Entry {
  method: HttpMethod
  path: string
  operation: OperationObject
}

export const entriesOf = (document: OpenApiDocument): Entry[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    httpMethods.flatMap((method): Entry[] => {
      const operation = item[method]
      return operation === undefined ? [] : [{ method, path, operation }]
    }),
  )
