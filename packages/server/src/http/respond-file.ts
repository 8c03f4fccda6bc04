import { CubbyError } from '../core/errors.ts'
import { type ByteRange, contentRange, parseByteRange, unsatisfiedRange } from '../core/files/byte-range.ts'
import { contentDisposition } from '../core/files/content-disposition.ts'
import { essenceOf } from '../core/files/content-type.ts'
import type { FileContent } from '../core/files/file-record.ts'
import type { BytesSource } from '../operations/files/bytes-source.ts'
import { matchesIfNoneMatch } from './conditions.ts'
import type { Exchange } from './exchange.ts'
import { exposedHeaders, respondError } from './respond.ts'
import { noteBody } from './response-notes.ts'

/** The request for the bytes of a file: the exchange of a route with a key, or that of the door `/files`. */
type FileRequest = Pick<Exchange, 'request' | 'requestId' | 'fileBodyOf'>

interface ServedFile {
  readonly name: string
  readonly content: FileContent
  readonly updatedAtMs: number
}

interface ServedAs {
  readonly cacheControl: string
  /** Browsers save the file: under its own name, or under this one. */
  readonly download?: true | string
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; media-src 'self'; sandbox"

/** A browser must not run, guess or leak anything because of a file that somebody uploaded. */
const safetyHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const

/**
 * Chromium draws no PDF under any sandbox. Its viewer runs the scripts of a PDF apart from the page's origin. Of several types
 * browsers take the last: no request can store them, but a store may have been written by somebody else.
 */
const policyFor = (contentType: string): Record<string, string> =>
  essenceOf(contentType) === 'application/pdf' && !contentType.includes(',')
    ? {}
    : { 'Content-Security-Policy': policy }

/** An answer in place of the bytes is as safe as they are. */
const withSafety = (response: Response): Response => {
  for (const [name, value] of Object.entries(safetyHeaders)) response.headers.set(name, value)
  response.headers.set('Content-Security-Policy', policy)
  return response
}

/** Finishes every response at the URL of a file, where no key is read. No cache keeps an error. */
export const asUrlResponse = (response: Response): Response => {
  const { headers } = response
  headers.delete('Vary')
  if (response.status >= 400) headers.set('Cache-Control', 'no-store')
  return headers.has('Repr-Digest') ? response : withSafety(response)
}

/** Compares tags of bytes with the strong comparison of RFC 9110. */
const matchesIfMatch = (headers: Headers, tag: string): boolean => {
  const value = headers.get('if-match')
  if (value === null || value.trim() === '*') return true
  // A list may have thousands, so it is not divided. What stands before and behind tells whether a whole element was found.
  for (let at = value.indexOf(tag); at >= 0; at = value.indexOf(tag, at + tag.length)) {
    const [before, behind] = [value.slice(0, at).trimEnd(), value.slice(at + tag.length).trimStart()]
    if ((before === '' || before.endsWith(',')) && (behind === '' || behind.startsWith(','))) return true
  }
  return false
}

const changed = (tag: string): CubbyError =>
  new CubbyError('precondition_failed', `The bytes of the file have the tag ${tag}, which If-Match does not name.`, {
    field: 'If-Match',
    hint: 'Read the file without If-Match, or with the ETag of an earlier answer with its bytes.',
  })

const notSatisfiable = (size: number): CubbyError =>
  new CubbyError('range_not_satisfiable', `The file has ${size} bytes; the range has none of them.`, {
    field: 'Range',
    hint: 'Content-Range has the size of the file: bytes */<size>.',
  })

/** HEAD ignores Range, and a range of another version of the file is all of this one. */
const rangeOf = ({ method, headers }: Request, size: number, tag: string): ReturnType<typeof parseByteRange> => {
  const range = headers.get('range')
  if (range === null || method !== 'GET') return undefined
  const ifRange = headers.get('if-range')
  return ifRange === null || ifRange.trim() === tag ? parseByteRange(range, size) : undefined
}

/**
 * The bytes of a file: 200, 206, 304, 412, 416, and the answer to HEAD. Conditions are judged in the order of RFC 9110,
 * section 13.2.2. Throws `unavailable`, and `store_damaged` if the source does not have the bytes. A range is not compared with
 * the digest: that would take all bytes of the file.
 */
export const respondFile = async (
  exchange: FileRequest,
  { name, content }: ServedFile,
  source: BytesSource,
  { cacheControl, download }: ServedAs,
): Promise<Response> => {
  const { request, requestId } = exchange
  const { size, contentType, sha256, blob } = content
  const tag = `"${sha256}"`
  if (!matchesIfMatch(request.headers, tag)) return withSafety(respondError(requestId, changed(tag)))
  const headers: Record<string, string> = {
    ETag: tag,
    'Accept-Ranges': 'bytes',
    'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'Cache-Control': cacheControl,
    'Content-Disposition': contentDisposition(name, contentType, download),
    ...safetyHeaders,
    ...policyFor(contentType),
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': exposedHeaders,
    'X-Request-Id': requestId,
    Vary: 'Authorization',
  }
  if (matchesIfNoneMatch(request.headers, sha256)) return new Response(null, { status: 304, headers })
  const range = rangeOf(request, size, tag)
  if (range === 'unsatisfiable') {
    const response = withSafety(respondError(requestId, notSatisfiable(size)))
    response.headers.set('Content-Range', unsatisfiedRange(size))
    return response
  }
  const { start, end }: ByteRange = range ?? { start: 0, end: size }
  const body = await exchange.fileBodyOf({
    source,
    blob,
    start,
    end,
    digests: range === undefined ? content : undefined,
  })
  headers['Content-Type'] = contentType
  if (range !== undefined) headers['Content-Range'] = contentRange(range, size)
  if (request.method === 'HEAD') headers['Content-Length'] = String(size)
  return noteBody(new Response(body, { status: range === undefined ? 200 : 206, headers }), body)
}
