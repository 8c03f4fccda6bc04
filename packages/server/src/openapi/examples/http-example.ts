import { CubbyError } from '../../core/errors.ts'
import { namesIn, withBetterHint } from '../../http/almost-right.ts'
import { httpHint } from '../../http/hint-text.ts'
import { findRoute } from '../../http/routes/operation-routes.ts'
import { type OperationRoute, pathParameters, targetFor } from '../../http/routes/route.ts'
import { statusOf } from '../../http/status.ts'
import type { Example, ExampleCall, ExampleError } from '../../operations/example.ts'
import { errorBody } from '../errors.ts'
import type { GivenStep } from '../types.ts'

/** A request and its answer. A test sends each to a real server with a new store. */
export interface HttpExample {
  /** The name of the parameters, the body and the answer in the document. */
  name: string
  summary: string
  given?: GivenStep[]
  /** Values of path parameters, query parameters and headers. Defaults: `db` is `app`, `table` is `orders`, `collection` is both. */
  parameters?: Record<string, string | number | boolean>
  body?: unknown
  status: number
  /** Headers of the answer that are worth showing. */
  headers?: Record<string, string>
  answer?: unknown
  contentType?: string
}

type Input = Readonly<Record<string, unknown>>

/** `ifUpdatedAt` as an HTTP header. */
const conditionHeader = (value: unknown): Record<string, string> => {
  if (value === null) return { 'If-None-Match': '*' }
  return { 'If-Match': value === '*' ? '*' : `"${value}"` }
}

/** Divides the input among path, query string, headers and body. */
const divide = ({ paths, query = [], body: sent }: OperationRoute, input: Input) => {
  const inPathOrQuery = new Set([...paths.flatMap(pathParameters), ...query])
  const parameters: Record<string, string | number | boolean> = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    if (name === 'ifUpdatedAt') Object.assign(parameters, conditionHeader(value))
    else if (inPathOrQuery.has(name)) parameters[name] = value as string
    else body[name] = value
  }
  if (sent?.member !== undefined) return { parameters, body: body[sent.member] }
  return { parameters, body: Object.keys(body).length === 0 ? undefined : body }
}

export const givenStep = ({ operation, input, output }: ExampleCall): GivenStep => {
  const route = findRoute(operation)!
  const { body } = divide(route, input)
  return {
    method: route.method,
    path: targetFor(route, input),
    ...(body !== undefined && { body }),
    ...(output === undefined ? {} : { answer: output }),
  }
}

/** Leaves out the names of the table if they have their default values. */
const withoutDefaults = ({ db, table, collection, ...given }: Record<string, string | number | boolean>) => ({
  ...(db === undefined || db === 'app' ? {} : { db }),
  ...(table === undefined || table === 'orders' ? {} : { table }),
  ...(collection === undefined || collection === 'app.orders' ? {} : { collection }),
  ...given,
})

export interface SuccessStatus {
  done: number
  /** If nothing had to be changed. */
  unchanged: number
}

/** The hint as HTTP gives it. */
const hintOver = ({ operation }: OperationRoute, input: Input, { code, message, ...more }: ExampleError) => {
  const params = input as Record<string, string>
  const { hint } = withBetterHint(operation.id, params, new CubbyError(code, message, more))
  return httpHint(hint, namesIn(params))
}

export const toHttpExample = (
  route: OperationRoute,
  { name, summary, given, input, output, version, error, unchanged }: Example,
  status: SuccessStatus,
  tagged: boolean,
): HttpExample => {
  const { parameters, body } = divide(route, input)
  const own = withoutDefaults(parameters)
  const tag = version ?? (output as { updatedAt?: number } | undefined)?.updatedAt
  return {
    name,
    summary,
    ...(given && { given: given.map(givenStep) }),
    ...(Object.keys(own).length > 0 && { parameters: own }),
    ...(body !== undefined && { body }),
    ...(error === undefined
      ? {
          status: unchanged ? status.unchanged : status.done,
          ...(tagged && { headers: { ETag: `"${tag}"` } }),
          answer: output,
        }
      : {
          status: statusOf[error.code],
          answer: errorBody(error.code, { ...error, hint: hintOver(route, input, error) }),
        }),
  }
}
