import {
  type CodeSample,
  type HttpMethod,
  httpMethods,
  type OpenApiDocument,
  type OperationObject,
  type Parameter,
  type Reference,
} from '../types.ts'
import { resolve } from './resolve.ts'

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
      // One that says so is shown with another.
      if (operation === undefined || 'x-same-as' in operation) return []
      return [{ method, path, operation }]
    }),
  )

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

export interface NamedSample {
  /** The name of the example in parameters, bodies and answers. */
  example: string
  label: string
  /** A command of `curlLine`. */
  curl: string
}

/** The code samples of the document. Their examples are named by themselves or by a list beside them. */
export const samplesIn = (operation: OperationObject): NamedSample[] => {
  const { 'x-sample-examples': names = [] } = operation as { 'x-sample-examples'?: string[] }
  const samples = (operation['x-codeSamples'] ?? []) as (CodeSample & { example?: string })[]
  return samples.map(({ label, source, example }, i) => ({ example: example ?? names[i]!, label, curl: source }))
}
