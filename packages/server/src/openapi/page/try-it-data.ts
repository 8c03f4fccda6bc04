import { parseCurlLine } from '../curl.ts'
import { json, literal } from '../samples/literal.ts'
import type { OpenApiDocument } from '../types.ts'
import type { TryItExample, TryItOperation } from './browser/try-it-data.ts'
import { type Entry, parametersOf, samplesIn } from './entries.ts'

/** The values of the parameters in `/v1/{db}` that make this path. The name of a file is all that is left of it. */
const pathValues = (template: string, path: string): Record<string, string> => {
  const given = path.split('/')
  const segments = template.split('/')
  const valueAt = (i: number): string =>
    decodeURIComponent(i === segments.length - 1 ? given.slice(i).join('/') : given[i]!)
  const pairs = segments.flatMap((segment, i): [string, string][] =>
    segment.startsWith('{') ? [[segment.slice(1, -1), valueAt(i)]] : [],
  )
  return Object.fromEntries(pairs)
}

const takesBytes = ({ requestBody }: Entry['operation']): boolean =>
  requestBody !== undefined && requestBody.content['application/json'] === undefined

const exampleOf = (template: string, label: string, curl: string): TryItExample => {
  const { target, headers, body, bytes = '' } = parseCurlLine(curl)
  const { pathname, searchParams } = new URL(target, 'http://localhost')
  const values = { ...pathValues(template, pathname), ...Object.fromEntries(searchParams), ...headers }
  return { label, values, body: body === undefined ? bytes : literal(body, json) }
}

/** What a public key may do changes nothing, whatever the method: a query is a POST. */
const effectOf = ({ method, operation: { security } }: Entry): TryItOperation['effect'] => {
  if (method === 'get' || method === 'head' || security.some((key) => 'publicKey' in key)) return 'reads'
  return method === 'delete' ? 'deletes' : 'changes'
}

const operationData = (document: OpenApiDocument, entry: Entry): TryItOperation => {
  const { method, path, operation } = entry
  return {
    title: operation.summary,
    method: method.toUpperCase(),
    path,
    needsKey: operation.security.length > 0,
    effect: effectOf(entry),
    hasBody: operation.requestBody !== undefined,
    takesBytes: takesBytes(operation),
    parameters: [
      ...parametersOf(document, entry).map(({ name, in: place, required = false }) => ({ name, place, required })),
      // OpenAPI has it as part of the body, not as a parameter.
      ...(takesBytes(operation) ? [{ name: 'Content-Type', place: 'header' as const, required: false }] : []),
    ],
    examples: Object.fromEntries(
      samplesIn(operation).map(({ example, label, curl }) => [example, exampleOf(path, label, curl)]),
    ),
  }
}

/** What the form for trying an operation needs, as JSON for a `script` element. */
export const tryItJson = (document: OpenApiDocument, entries: Entry[]): string => {
  // A browser sends preflights itself, and lets no page set their headers.
  const shown = entries.filter(({ method }) => method !== 'options')
  const data = Object.fromEntries(shown.map((entry) => [entry.operation.operationId, operationData(document, entry)]))
  return JSON.stringify(data).replaceAll('<', '\\u003c')
}
