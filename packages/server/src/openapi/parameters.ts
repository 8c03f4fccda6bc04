import {
  dataDepthMax,
  fileMetadataBytesMax,
  idempotencyKeyCharactersMax,
  requestIdCharactersMax,
  runsCountedInListingMax,
  runsCountedMax,
} from '../core/limits.ts'
import { allowedHeaders, exposedHeaders } from '../http/respond.ts'
import { retryAfterSeconds } from '../http/status.ts'
import { catalogue, type OperationId } from '../operations/catalogue.ts'
import { documentAreas } from './areas.ts'
import { asComponent } from './schemas.ts'
import type { Header, Parameter, Reference } from './types.ts'

// ── Parameters and headers of requests ─────────────────────────────────────────────────────────────────────

const entries = catalogue()

/** A member of an operation's input as a path or query parameter. */
const fromInput = (id: OperationId, name: string, where: 'path' | 'query', note = ''): Parameter => {
  const { description, ...schema } = entries[id].input.properties![name]!
  return {
    name,
    in: where,
    ...(where === 'path' && { required: true, example: pathExamples[name] }),
    description: [description, note].join(' ').trimEnd(),
    schema: asComponent(schema),
  }
}

/** The table and record that the examples use. */
const pathExamples: Record<string, string> = {
  db: 'app',
  table: 'orders',
  bucket: 'avatars',
  task: 'mail',
  run: 'order-o-1',
  hashKey: 'ada',
  rangeKey: 'o-1',
  name: 'ada/small.png',
  id: 'key_4fJ2mQ9sT7bXc1LwZr8a',
  bucketId: 'bkt_6Qm2sVx9LrT4nYc8WbKd1e',
  collection: 'app.orders',
}

const encoded = 'Percent-encoded once, as `encodeURIComponent` does.'

/** The part of a signed URL. */
const signedParameter = (name: string, description: string): Parameter => ({
  name,
  in: 'query',
  description: `${description} Only in signed URLs: use them as they were given.`,
  schema: { type: 'string' },
})

/** Parameters by their name in the path, the query string or the headers; for those of items see `parameterAt`. */
const keyCharacters = `[!#-+\\--\\[\\]-~]{1,${idempotencyKeyCharactersMax}}`
const idempotencyKeyPattern = `^(${keyCharacters}|"${keyCharacters}")$`

export const parameters = {
  db: fromInput('getRecord', 'db', 'path'),
  table: fromInput('getRecord', 'table', 'path'),
  bucket: fromInput('describeBucket', 'bucket', 'path'),
  task: fromInput('describeTask', 'task', 'path'),
  // Any text is looked for, but an empty segment is another path.
  run: { ...fromInput('getRun', 'run', 'path'), schema: { type: 'string', minLength: 1 } },
  hashKey: fromInput('getRecord', 'hashKey', 'path', encoded),
  rangeKey: fromInput('getRecord', 'rangeKey', 'path', encoded),
  name: fromInput(
    'getFile',
    'name',
    'path',
    'All that follows the bucket in the path. Each segment is percent-encoded once; `%2F` is the same as `/`.',
  ),
  issuerName: { ...fromInput('getIssuer', 'name', 'path'), example: 'auth' },
  id: fromInput('revokeApiKey', 'id', 'path'),
  collection: fromInput('getItem', 'collection', 'path'),
  itemId: { ...fromInput('getItem', 'id', 'path', encoded), example: 'draft' },
  itemRangeKey: fromInput('getItem', 'rangeKey', 'query', '`+` is a space here: write a plus as `%2B`.'),
  itemTtl: fromInput('putItem', 'ttl', 'query'),
  limit: fromInput('listTables', 'limit', 'query'),
  cursor: fromInput('listTables', 'cursor', 'query'),
  deleted: fromInput('listTables', 'deleted', 'query'),
  counts: {
    ...fromInput('describeTask', 'counts', 'query'),
    description: `True: \`counts\` says how many runs have each status, each counted up to ${runsCountedMax.toLocaleString('en-US')}, in a listing up to ${runsCountedInListingMax}.`,
  },
  waitSeconds: fromInput('getRun', 'waitSeconds', 'query'),
  onError: fromInput('loadRecords', 'onError', 'query'),
  ifAbsent: fromInput('loadRecords', 'ifAbsent', 'query'),
  visibility: fromInput('putFile', 'visibility', 'query'),
  ttl: fromInput('putFile', 'ttl', 'query'),
  metadata: {
    name: 'metadata',
    in: 'query',
    description: `The text of a JSON object of at most ${fileMetadataBytesMax.toLocaleString('en-US')} bytes after decoding, and ${dataDepthMax} levels. It is returned exactly as it was sent; \`{}\` by default.`,
    schema: { type: 'string' },
  },
  record: {
    name: 'record',
    in: 'query',
    description: 'True: the record of the file as JSON, instead of its bytes.',
    schema: { type: 'boolean', default: false },
  },
  bucketId: {
    name: 'bucketId',
    in: 'path',
    required: true,
    example: pathExamples.bucketId,
    description: 'The `id` of the bucket, which cannot be guessed.',
    schema: { type: 'string', minLength: 1 },
  },
  v: {
    name: 'v',
    in: 'query',
    description:
      'For permanent URLs: the `updatedAt` of the file. If it is that of the current version, clients may keep the answer for a year without asking again.',
    schema: { type: 'string' },
  },
  download: {
    name: 'download',
    in: 'query',
    description: 'Browsers save the file instead of showing it: under this name, or if it is empty under its own.',
    schema: { type: 'string' },
  },
  area: {
    name: 'area',
    in: 'query',
    description: 'Only the part of the document for this area.',
    schema: { type: 'string', enum: documentAreas },
  },
  expires: signedParameter('expires', 'When the URL expires, in epoch milliseconds.'),
  key: signedParameter('key', 'The id of the API key that signed the URL.'),
  signature: signedParameter('signature', 'The signature of everything else in the URL, and of its method.'),
  'Content-Digest': {
    name: 'Content-Digest',
    in: 'header',
    description:
      'The SHA-256 of the bytes (RFC 9530), for example `sha-256=:…:`. If other bytes arrive, nothing is stored.',
    schema: { type: 'string' },
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description:
      'Write only if the record is at this version: the `ETag` of an answer, including the quotes. `*`: only if it exists. One strong tag, not a list.',
    schema: { type: 'string', pattern: '^(\\*|"[\\x21\\x23-\\x7e\\x80-\\xff]*")$' },
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'Answer 304 if the record is still at this version. Lists, weak tags and `*` work as HTTP defines.',
    schema: { type: 'string' },
  },
  'If-None-Match: *': {
    name: 'If-None-Match',
    in: 'header',
    description: '`*`: write only if the record does not exist. It cannot be combined with `If-Match`.',
    schema: { type: 'string', pattern: '^\\*$' },
  },
  'If-Match: bytes': {
    name: 'If-Match',
    in: 'header',
    description:
      'Answer 412 unless one of these tags is that of the bytes: the `ETag` of an answer with bytes, including the quotes.',
    schema: { type: 'string' },
  },
  'If-None-Match: bytes': {
    name: 'If-None-Match',
    in: 'header',
    description:
      'Answer 304 if one of these tags is still that of the answer. Lists, weak tags and `*` work as HTTP defines.',
    schema: { type: 'string' },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description: `Makes the request safe to repeat: with the same key, method, path, conditions and body it is applied once, and gets the same answer again for at least 24 hours. 1 to ${idempotencyKeyCharactersMax} visible ASCII characters except \`"\`, \`\\\` and \`,\`, bare or in double quotes. A UUID fits.`,
    schema: { type: 'string', pattern: idempotencyKeyPattern },
  },
  Range: {
    name: 'Range',
    in: 'header',
    description:
      'One range of bytes, such as `bytes=0-99`, `bytes=100-` or `bytes=-100`: the answer is 206 with these bytes. Several ranges, and ranges that HTTP does not define, are ignored. HEAD ignores it.',
    schema: { type: 'string' },
  },
  'If-Range': {
    name: 'If-Range',
    in: 'header',
    description: 'The `ETag` of an earlier answer. If the bytes have another one by now, all of them are sent.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description: '`return=minimal`: answer without the data that was sent.',
    schema: { type: 'string' },
  },
  'Access-Control-Request-Method': {
    name: 'Access-Control-Request-Method',
    in: 'header',
    description: 'Sent by the browser: the method that it wants to use.',
    schema: { type: 'string' },
  },
} satisfies Record<string, Parameter>

export type ParameterName = keyof typeof parameters

/** Items have parameters with names that mean something else on other paths. */
const ofItems: Record<string, ParameterName> = { id: 'itemId', rangeKey: 'itemRangeKey', ttl: 'itemTtl' }

/** The parameter with this name in requests to this path. */
export const parameterAt = (path: string, name: string): ParameterName =>
  (path.startsWith('/api/collections/')
    ? ofItems[name]
    : path.startsWith('/api/issuers/')
      ? 'issuerName'
      : undefined) ?? (name as ParameterName)

const componentNames: Partial<Record<ParameterName, string>> = { name: 'nameOfFile', key: 'keyOfUrl', run: 'idOfRun' }

/** The name of a component must not contain `: *`, nor be that of a schema. */
export const parameterComponent = (name: ParameterName): string =>
  componentNames[name] ?? name.replace(': *', '-Any').replace(': bytes', '-Of-Bytes')

export const parameterRef = (name: ParameterName): Reference => ({
  $ref: `#/components/parameters/${parameterComponent(name)}`,
})

// ── Headers of answers ─────────────────────────────────────────────────────────────────────────────────────

const fixed = (description: string, value: string): Header => ({
  description,
  required: true,
  schema: { type: 'string', enum: [value] },
})

const sha256Tag = '"[0-9a-f]{64}"'

/** Headers by name. The part after a colon distinguishes those that mean something else in other responses. */
export const headers = {
  'X-Request-Id': {
    description: 'The id that the caller sent, if it was well-formed; otherwise a new one.',
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: requestIdCharactersMax, pattern: '^[\\x21-\\x7e]+$' },
  },
  'Cache-Control': fixed('Clients may cache the answer but must revalidate it.', 'private, no-cache'),
  'Cache-Control: shared': fixed('Every cache may keep the answer but must revalidate it.', 'no-cache'),
  'Cache-Control: URL': {
    description:
      '`public, no-cache` at a permanent URL, `public, max-age=31536000, immutable` if it has the current `v`, and `private, no-cache` at a signed one.',
    required: true,
    schema: {
      type: 'string',
      enum: ['public, no-cache', 'public, max-age=31536000, immutable', 'private, no-cache'],
    },
  },
  'Cache-Control: errors': fixed('No cache keeps an error.', 'no-store'),
  'Access-Control-Allow-Origin': fixed('Pages from every origin may read the answer.', '*'),
  'Access-Control-Expose-Headers': fixed('The headers that such pages may read.', exposedHeaders),
  ETag: {
    description: 'The record’s version, for `If-Match` and `If-None-Match`: its `updatedAt` in quotes.',
    required: true,
    schema: { type: 'string', pattern: '^"[0-9]+"$' },
  },
  'ETag: bytes': {
    description: 'The SHA-256 of the bytes, in hex and in quotes, for `If-Match`, `If-None-Match` and `If-Range`.',
    required: true,
    schema: { type: 'string', pattern: `^${sha256Tag}$` },
  },
  'ETag: bytes or record': {
    description: 'The SHA-256 of the bytes, or the version of the record, in quotes.',
    required: true,
    schema: { type: 'string', pattern: `^(${sha256Tag}|"[0-9]+")$` },
  },
  'Idempotency-Replayed': {
    description: 'Present if the request was applied before, under the same `Idempotency-Key`, and not now.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Accept-Ranges': fixed('Requests may ask for a range.', 'bytes'),
  'Content-Range': {
    description: 'Which bytes these are, and how many the file has.',
    required: true,
    schema: { type: 'string', pattern: '^bytes [0-9]+-[0-9]+/[0-9]+$' },
  },
  'Content-Range: size': {
    description: 'How many bytes the file has.',
    required: true,
    schema: { type: 'string', pattern: '^bytes \\*/[0-9]+$' },
    example: 'bytes */22',
  },
  'Repr-Digest': {
    description: 'The SHA-256 of all bytes of the file (RFC 9530), also if the answer has a part of them.',
    required: true,
    schema: { type: 'string', pattern: '^sha-256=:[A-Za-z0-9+/]{43}=:$' },
  },
  'Content-Disposition': {
    description:
      'With the name of the file. `inline` for pictures, audio, video, PDF and plain text, unless `download` is given; otherwise `attachment`.',
    required: true,
    schema: { type: 'string', pattern: '^(inline|attachment)' },
  },
  'X-Content-Type-Options': fixed('Browsers must not guess the type.', 'nosniff'),
  'Referrer-Policy': fixed('The URL is not told to others.', 'no-referrer'),
  'Cross-Origin-Resource-Policy': fixed('Pages from every origin may embed the file.', 'cross-origin'),
  'Content-Security-Policy: files': {
    description:
      'The file runs no script and loads nothing. Absent for PDF, which browsers do not show under any sandbox.',
    schema: { type: 'string' },
  },
  Location: {
    description: 'The path of the page, relative to the host.',
    required: true,
    schema: { type: 'string' },
    example: '/docs',
  },
  'WWW-Authenticate': fixed('How to authenticate.', 'Bearer'),
  Allow: {
    description: 'The methods of this path.',
    required: true,
    schema: { type: 'string' },
    example: 'DELETE, GET, HEAD, OPTIONS, POST, PUT',
  },
  'Retry-After': {
    description: 'Seconds after which to repeat the request.',
    required: true,
    schema: { type: 'integer', minimum: retryAfterSeconds, maximum: retryAfterSeconds },
    example: retryAfterSeconds,
  },
  'Access-Control-Allow-Methods': {
    description: 'The methods that the service accepts.',
    required: true,
    schema: { type: 'string' },
  },
  'Access-Control-Allow-Headers': {
    description: 'The headers that a page may send.',
    required: true,
    schema: { type: 'string' },
    example: allowedHeaders,
  },
  'Access-Control-Max-Age': {
    description: 'Seconds for which the browser may cache this answer: a day.',
    required: true,
    schema: { type: 'integer', minimum: 0, maximum: 86_400 },
    example: 86_400,
  },
  'Content-Security-Policy': {
    description: 'The page loads nothing: its own style and script are allowed by their hashes.',
    required: true,
    schema: { type: 'string' },
  },
} satisfies Record<string, Header>

export type HeaderName = keyof typeof headers

/** The name of the header in an answer. */
export const headerField = (name: HeaderName): string => name.split(':', 1)[0]!

/** A name without a colon or a space. */
export const headerComponent = (name: HeaderName): string => name.replaceAll(/:? /g, '-')

export const headerRef = (name: HeaderName): Reference => ({
  $ref: `#/components/headers/${headerComponent(name)}`,
})
