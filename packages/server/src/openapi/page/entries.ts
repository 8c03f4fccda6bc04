import { servedById } from '../document.ts'
import type { HttpExample } from '../examples/http-example.ts'
import { type ExampleRequest, requestOf } from '../requests.ts'
import { examplesAt } from '../served-operation.ts'
import {
  type HttpMethod,
  httpMethods,
  type OpenApiDocument,
  type OperationObject,
  type Parameter,
  type Reference,
} from '../types.ts'

/** Follows a reference into the components of the document. */
export const resolve = <T extends object>(document: OpenApiDocument, value: T | Reference): T => {
  if (!('$ref' in value)) return value
  const [, , kind, name] = (value as Reference).$ref.split('/')
  return (document.components as unknown as Record<string, Record<string, T>>)[kind!]![name!]!
}

/** An example and its request. */
export interface Sample {
  example: HttpExample
  request: ExampleRequest
}

/** A section of the page: one operation on one path. */
export interface Entry {
  method: HttpMethod
  path: string
  operation: OperationObject
  samples: Sample[]
}

export const entriesOf = (document: OpenApiDocument): Entry[] => {
  const served = servedById()
  return Object.entries(document.paths).flatMap(([path, item]) =>
    httpMethods.flatMap((method): Entry[] => {
      const operation = item[method]
      if (operation === undefined) return []
      const place = served.get(operation.operationId)!
      const samples = examplesAt(place).map((example) => ({ example, request: requestOf(place, example) }))
      return [{ method, path, operation, samples }]
    }),
  )
}

/** Parameters of the operation override those of the path. */
export const parametersOf = (document: OpenApiDocument, { path, operation }: Entry): Parameter[] => {
  const byName = new Map<string, Parameter>()
  const { parameters = [] } = document.paths[path] as { parameters?: (Parameter | Reference)[] }
  for (const value of [...parameters, ...(operation.parameters ?? [])]) {
    const parameter = resolve(document, value)
    byName.set(`${parameter.in} ${parameter.name}`, parameter)
  }
  // Every request may have an X-Request-Id; the introduction explains it once.
  return [...byName.values()].filter(({ name }) => name !== 'X-Request-Id')
}
