import type { CubbyError } from '../core/errors.ts'
import { headJson, recordJson } from '../core/records/record-json.ts'
import type { StoredRecord } from '../core/records/stored-record.ts'
import type { Exchange } from './exchange.ts'
import { docsNote, httpHint, type Names, shellHint } from './hint-text.ts'
import type { ResponseBody } from './response-bodies.ts'
import { noteBody, noteCode } from './response-notes.ts'
import { retryAfterSeconds, statusOf } from './status.ts'

export const exposedHeaders =
  'Accept-Ranges, Content-Disposition, Content-Range, ETag, Idempotency-Replayed, Repr-Digest, Retry-After, X-Request-Id'

export const allowedHeaders =
  'authorization, content-digest, content-encoding, content-type, idempotency-key, if-match, if-none-match, if-range, last-event-id, mcp-method, mcp-name, mcp-protocol-version, prefer, range, traceparent, tracestate, x-request-id'

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** The headers of every answer. For Bun, copying a `Headers` is cheaper than reading the members of an object. */
const commonHeaders = new Headers({
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-cache',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposedHeaders,
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Authorization',
})

const respond = (requestId: string, body: ResponseBody | null, status = 200): Response => {
  const response = new Response(body, { status, headers: commonHeaders })
  response.headers.set('X-Request-Id', requestId)
  return noteBody(response, body)
}

/** The version of a record is its entity tag. */
const tagged = (response: Response, version: string): Response => {
  response.headers.set('ETag', `"${version}"`)
  return response
}

export const respondJson = (requestId: string, body: unknown, status = 200): Response =>
  respondText(requestId, JSON.stringify(body), status)

// JSON ends with a newline, so that a shell prompt begins on a line of its own. Documents, files and messages are sent as they
// are.

/** JSON text that is small. */
export const respondText = (requestId: string, text: string, status = 200): Response =>
  respond(requestId, `${text}\n`, status)

/** JSON text that may be long. */
export const respondLongText = (exchange: Exchange, text: string, status = 200): Response =>
  respond(exchange.requestId, exchange.bodyOf(`${text}\n`), status)

/** A message of MCP that is small. */
export const respondMessage = (requestId: string, text: string, status: number): Response =>
  respond(requestId, text, status)

/** A message of MCP that may be long. */
export const respondLongMessage = (exchange: Exchange, text: string, status: number): Response =>
  respond(exchange.requestId, exchange.bodyOf(text), status)

export const respondRecord = (exchange: Exchange, record: StoredRecord): Response => {
  const version = String(record.updatedAtMs)
  return tagged(respond(exchange.requestId, exchange.bodyOf(`${recordJson(record, version)}\n`)), version)
}

/** The data of a record, as it was sent. */
export const respondDocument = (exchange: Exchange, { data, updatedAtMs }: StoredRecord): Response =>
  tagged(respond(exchange.requestId, exchange.bodyOf(data)), String(updatedAtMs))

/** Responds with the version only, for writers of a document that want no more. */
export const respondWritten = (requestId: string, { updatedAtMs }: StoredRecord): Response => {
  const response = tagged(respond(requestId, null, 204), String(updatedAtMs))
  response.headers.delete('Content-Type')
  return response
}

/** The record without its data, for writers that already have the data. */
export const respondMinimal = (requestId: string, record: StoredRecord): Response =>
  tagged(respondText(requestId, headJson(record)), String(record.updatedAtMs))

/** JSON text of something with a version. */
export const respondVersion = (exchange: Exchange, text: string, version: number, status = 200): Response =>
  tagged(respondLongText(exchange, text, status), String(version))

export const respondNotModified = (requestId: string, updatedAtMs: number): Response =>
  tagged(respond(requestId, null, 304), String(updatedAtMs))

export interface EntryPoint {
  name: string
  version: string
  /** Absolute URLs. */
  docs: string
  openapi: string
  /** Absent with --no-console. */
  console?: string
  skill: string
  llms: string
  /** Absent with --no-mcp. */
  mcp?: string
}

/** It depends on Accept, and on the host by which the server was reached: `private` keeps shared caches from storing it. */
export const respondEntryPoint = (requestId: string, entryPoint: EntryPoint): Response => {
  const response = respondJson(requestId, entryPoint)
  response.headers.set('Vary', 'Accept')
  return response
}

/** Sends browsers from the entry point to a page. `path` is relative to the host, so it is right behind every proxy. */
export const respondRedirect = (requestId: string, path: string): Response => {
  const response = respond(requestId, null, 302)
  response.headers.delete('Content-Type')
  response.headers.set('Location', path)
  response.headers.set('Vary', 'Accept')
  return response
}

export interface ErrorContext {
  /** The methods that `method_not_allowed` names. */
  allow?: string
  /** The names that a call in the hint uses, if it does not have its own. */
  names?: Names
  /** The hint names commands of the shell. */
  forShell?: boolean
}

const errorBody = (requestId: string, error: CubbyError, { names, forShell }: ErrorContext): unknown => {
  const { code, message, field, count } = error
  const isLost = statusOf[code] === 401 || code === 'route_not_found'
  const own = forShell ? shellHint(error.hint, names) : httpHint(error.hint, names)
  const hint = isLost && !forShell ? [own, docsNote].join(' ').trimStart() : own
  return { error: { code, message, field, hint, count, requestId } }
}

/** The body of an error that ends an answer which has begun. */
export const errorText = (requestId: string, error: CubbyError, context: ErrorContext): string =>
  JSON.stringify(errorBody(requestId, error, context))

export const respondError = (requestId: string, error: CubbyError, context: ErrorContext = {}): Response => {
  const { code } = error
  const { allow } = context
  const status = statusOf[code]
  const response = respondJson(requestId, errorBody(requestId, error, context), status)
  if (status === 401) response.headers.set('WWW-Authenticate', 'Bearer')
  if (status === 503) response.headers.set('Retry-After', String(retryAfterSeconds))
  if (allow !== undefined) response.headers.set('Allow', allow)
  return noteCode(response, code)
}

/** A stream of events. A proxy must neither keep it nor collect it. */
export const respondEvents = (requestId: string, body: ReadableStream<Uint8Array>): Response => {
  const response = respond(requestId, body)
  response.headers.set('Content-Type', 'text/event-stream')
  response.headers.set('Cache-Control', 'no-store')
  response.headers.set('X-Accel-Buffering', 'no')
  return response
}

/** A message that needs no answer. */
export const respondAccepted = (requestId: string): Response => {
  const response = respond(requestId, null, 202)
  response.headers.delete('Content-Type')
  return response
}

export const respondPreflight = (requestId: string): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'X-Request-Id': requestId,
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': allowedMethods,
      'Access-Control-Allow-Headers': allowedHeaders,
      'Access-Control-Expose-Headers': exposedHeaders,
      'Access-Control-Max-Age': '86400',
      'X-Content-Type-Options': 'nosniff',
    },
  })
