import { CubbyError } from '../../core/errors.ts'
import { httpHint } from '../../http/hint-text.ts'
import { namesIn, withBetterHint } from '../../http/mistake-hints.ts'
import { statusOf } from '../../http/status.ts'
import { targetFor } from '../../http/targets.ts'
import { type CatalogueEntry, findOperation } from '../../operations/catalogue.ts'
import type { Example, ExampleCall, ExampleError } from '../../operations/example.ts'
import type { AnyOperation, Route } from '../../operations/operation.ts'
import { pathNames } from '../../operations/parse-input.ts'
import { errorBody } from '../error-examples.ts'
import { clientCall, type WrittenCall } from '../samples/client-call.ts'
import type { GivenStep } from '../types.ts'

/** A request and its answer. A test sends each to a real server with a new store. */
export interface HttpExample {
  /** The name of the parameters, the body and the answer in the document. */
  name: string
  summary: string
  given?: GivenStep[]
  /**
   * Values of path parameters, query parameters and headers. Defaults: `db` is `app`, `table` is `orders`, `collection` is
   * both.
   */
  parameters?: Record<string, string | number | boolean>
  body?: unknown
  /** The body as it is sent, instead of JSON. */
  bytes?: string
  status: number
  /** Headers of the answer that are worth showing. */
  headers?: Record<string, string>
  response?: unknown
  contentType?: string
  /** The same with our client. Absent: it has no method for it, or rejects it before it is sent. */
  client?: WrittenCall
}

type Input = Readonly<Record<string, unknown>>

/** `ifUpdatedAt` as an HTTP header. */
const conditionHeader = (value: unknown): Record<string, string> => {
  if (value === null) return { 'If-None-Match': '*' }
  return { 'If-Match': value === '*' ? '*' : `"${value}"` }
}

/** Divides the input among path, query string, headers and body. */
const divide = (route: Route, input: Input) => {
  const { path, query = [], body: sent, bytes: inBody } = route
  const inPathOrQuery = new Set([...pathNames(path), ...query])
  const parameters: Record<string, string | number | boolean> = {}
  const headers: Record<string, string> = {}
  if (route.bytesType !== undefined) headers['Content-Type'] = route.bytesType
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    if (name === 'ifUpdatedAt') Object.assign(headers, conditionHeader(value))
    else if (inBody !== undefined && name === 'contentType') headers['Content-Type'] = value as string
    else if (inPathOrQuery.has(name)) parameters[name] = asParameter(value)
    else if (name !== inBody) body[name] = value
  }
  const bytes = inBody === undefined ? undefined : (input[inBody] as string)
  Object.assign(parameters, route.queryAlways)
  if (sent?.member !== undefined) return { parameters, headers, bytes, body: body[sent.member] }
  return { parameters, headers, bytes, body: Object.keys(body).length === 0 ? undefined : body }
}

/** An object is sent as JSON. */
const asParameter = (value: unknown): string | number | boolean =>
  typeof value === 'object' ? JSON.stringify(value) : (value as string)

export const givenStep = ({ operation, input, output }: ExampleCall): GivenStep => {
  const route = findOperation(operation)!.route!
  const { body, bytes, headers } = divide(route, input)
  return {
    method: route.method,
    path: targetFor({ ...route, queryAlways: undefined }, input),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(body !== undefined && { body }),
    ...(bytes !== undefined && { bytes }),
    ...(output === undefined ? {} : { answer: output }),
  }
}

type Given = Record<string, string | number | boolean>

/** Leaves out the names of the table, collection, bucket, task, run and file if they have their default values. */
const withoutDefaults = ({ db, table, collection, bucket, task, run, name, ...given }: Given) => ({
  ...(bucket === undefined || bucket === 'avatars' ? {} : { bucket }),
  ...(task === undefined || task === 'mail' ? {} : { task }),
  ...(run === undefined || run === 'order-o-1' ? {} : { run }),
  ...(name === undefined || name === 'ada/small.png' ? {} : { name }),
  ...(db === undefined || db === 'app' ? {} : { db }),
  ...(table === undefined || table === 'orders' ? {} : { table }),
  ...(collection === undefined || collection === 'app.orders' ? {} : { collection }),
  ...given,
})

interface SuccessStatus {
  done: number
  /** The status if nothing had to be changed. */
  unchanged: number
}

/** The hint as HTTP gives it. */
const hintOver = ({ id }: AnyOperation, input: Input, { code, message, ...more }: ExampleError) => {
  const params = input as Record<string, string>
  const { hint } = withBetterHint(id, params, new CubbyError(code, message, more))
  return httpHint(hint, namesIn(params))
}

/** Statuses of requests that our client sends as they are. It or its types reject others before. */
const sentByClient = (status: number): boolean => status < 300 || [404, 409, 412].includes(status)

export const toHttpExample = (
  operation: CatalogueEntry,
  { name, summary, given, input, output, version, error, unchanged, wants }: Example,
  status: SuccessStatus,
  tagged: boolean,
): HttpExample => {
  const { parameters, headers, body, bytes } = divide(operation.route!, input)
  const tag = version ?? (output as { updatedAt?: number } | undefined)?.updatedAt
  const preference = { changes: { 'If-None-Match': `"${tag}"` }, minimal: { Prefer: 'return=minimal' } }
  const own = withoutDefaults({ ...parameters, ...headers, ...(wants && preference[wants]) })
  const succeeded = wants === undefined ? status.done : wants === 'changes' ? 304 : output === undefined ? 204 : 200
  const answered = error !== undefined ? statusOf[error.code] : unchanged ? status.unchanged : succeeded
  const { client } = operation
  return {
    name,
    summary,
    ...(given && { given: given.map(givenStep) }),
    ...(Object.keys(own).length > 0 && { parameters: own }),
    ...(body !== undefined && { body }),
    ...(bytes !== undefined && { bytes }),
    ...(client && sentByClient(answered) && { client: clientCall(client, input, wants === 'minimal') }),
    status: answered,
    ...(error === undefined
      ? { ...(tagged && { headers: { ETag: `"${tag}"` } }), ...(output !== undefined && { response: output }) }
      : { response: errorBody(error.code, { ...error, hint: hintOver(operation, input, error) }) }),
  }
}
