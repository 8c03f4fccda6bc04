import { json, literal } from '../samples/literal.ts'
import type { OpenApiDocument } from '../types.ts'
import type { TryItExample, TryItOperation } from './browser/try-it-data.ts'
import { type Entry, parametersOf, type Sample } from './entries.ts'

const takesBytes = ({ requestBody }: Entry['operation']): boolean =>
  requestBody !== undefined && requestBody.content['application/json'] === undefined

const exampleOf = ({ example, request: { values, body, bytes = '' } }: Sample): TryItExample => ({
  label: example.summary,
  values,
  body: body === undefined ? bytes : literal(body, json),
})

/** An operation that a public key may call changes nothing, whatever the method: a query is a POST. */
const effectOf = ({ method, operation: { security } }: Entry): TryItOperation['effect'] => {
  if (method === 'get' || method === 'head' || security.some((key) => 'publicKey' in key)) return 'reads'
  return method === 'delete' ? 'deletes' : 'changes'
}

const operationData = (document: OpenApiDocument, entry: Entry): TryItOperation => {
  const { method, path, operation, samples } = entry
  return {
    title: operation.summary,
    method: method.toUpperCase(),
    path,
    needsKey: operation.security.length > 0,
    effect: effectOf(entry),
    hasBody: operation.requestBody !== undefined,
    takesBytes: takesBytes(operation),
    parameters: [
      ...parametersOf(document, entry).map(({ name, in: parameterIn, required = false }) => ({
        name,
        parameterIn,
        required,
      })),
      // OpenAPI has it as part of the body, not as a parameter.
      ...(takesBytes(operation) ? [{ name: 'Content-Type', parameterIn: 'header' as const, required: false }] : []),
    ],
    examples: Object.fromEntries(samples.map((sample) => [sample.example.name, exampleOf(sample)])),
  }
}

/** Returns the data of the form for trying an operation, as JSON for a `script` element. */
export const tryItJson = (document: OpenApiDocument, entries: Entry[]): string => {
  // A browser sends preflights itself, and lets no page set their headers.
  const shown = entries.filter(({ method }) => method !== 'options')
  const data = Object.fromEntries(shown.map((entry) => [entry.operation.operationId, operationData(document, entry)]))
  return JSON.stringify(data).replaceAll('<', '\\u003c')
}
