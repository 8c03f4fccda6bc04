import type { StoredRecord } from '../core/engine.ts'
import type { CubbyError } from '../core/errors.ts'
import { emptySlot } from '../core/record-key.ts'
import { retryAfterSeconds, statusOf } from './status.ts'

const exposedHeaders = 'ETag, Retry-After, X-Request-Id'

// Written out in full: an object literal of a fixed shape is the cheapest way to give Bun headers.
const jsonHeaders = (requestId: string) => ({
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-cache',
  'X-Request-Id': requestId,
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposedHeaders,
})

const recordHeaders = (requestId: string, version: string) => ({
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-cache',
  'X-Request-Id': requestId,
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposedHeaders,
  ETag: `"${version}"`,
})

export const respondJson = (requestId: string, body: unknown, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: jsonHeaders(requestId) })

const needsNoEscape = /^[ !#-[\]-~]*$/

/** As JSON.stringify; nearly every key is plain ASCII, and seeing that costs half as much. */
const quote = (text: string): string => (needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text))

/** `data` is spliced in as it is stored: never parsed, never stringified. */
const recordJson = ({ hashKey, rangeKey, data, ttlSeconds }: StoredRecord, version: string): string => {
  const range = rangeKey === emptySlot ? '' : `,"rangeKey":${quote(rangeKey)}`
  const ttl = ttlSeconds === null ? '' : `,"ttl":${ttlSeconds}`
  return `{"hashKey":${quote(hashKey)}${range},"data":${data}${ttl},"updatedAt":${version}}`
}

export const respondRecord = (requestId: string, record: StoredRecord): Response => {
  const version = String(record.updatedAtMs)
  return new Response(recordJson(record, version), { headers: recordHeaders(requestId, version) })
}

/** The record without its data, for writers that have it already. */
export const respondMinimal = (requestId: string, record: StoredRecord): Response => {
  const { hashKey, rangeKey, ttlSeconds, updatedAtMs } = record
  const body = JSON.stringify({
    hashKey,
    rangeKey: rangeKey === emptySlot ? undefined : rangeKey,
    ttl: ttlSeconds ?? undefined,
    updatedAt: updatedAtMs,
  })
  return new Response(body, { headers: recordHeaders(requestId, String(updatedAtMs)) })
}

export const respondNotModified = (requestId: string, updatedAtMs: number): Response =>
  new Response(null, { status: 304, headers: recordHeaders(requestId, String(updatedAtMs)) })

export const respondPage = (requestId: string, records: StoredRecord[], cursor: string | null): Response => {
  let items = ''
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!
    items += `${i === 0 ? '' : ','}${recordJson(record, String(record.updatedAtMs))}`
  }
  const body = `{"items":[${items}],"count":${records.length},"cursor":${JSON.stringify(cursor)}}`
  return new Response(body, { headers: jsonHeaders(requestId) })
}

export const respondError = (requestId: string, error: CubbyError, allow?: string): Response => {
  const { code, message, field, hint } = error
  const status = statusOf[code]
  const headers: Record<string, string> = jsonHeaders(requestId)
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer'
  if (status === 503) headers['Retry-After'] = String(retryAfterSeconds)
  if (allow !== undefined) headers.Allow = allow
  return new Response(JSON.stringify({ error: { code, message, field, hint, requestId } }), { status, headers })
}

export const respondPreflight = (requestId: string): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'X-Request-Id': requestId,
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, DELETE, OPTIONS',
      'Access-Control-Allow-Headers': 'authorization, content-type, if-match, if-none-match, prefer, x-request-id',
      'Access-Control-Expose-Headers': exposedHeaders,
      'Access-Control-Max-Age': '86400',
    },
  })
