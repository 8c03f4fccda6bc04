import type { ErrorCode } from '../core/errors.ts'
import { plainBodyBytesMax } from '../core/limits.ts'
import type { FileUrlOperationId } from '../http/file-url-endpoint.ts'
import { type OpenOperationId, verbs } from '../http/routes.ts'
import {
  type CatalogueEntry,
  catalogue,
  codesOf,
  type RoutedOperationId,
  routedOperations,
} from '../operations/catalogue.ts'
import type { Area } from '../operations/operation.ts'
import { binaryBytes, type Schema } from '../operations/schema.ts'
import * as files from './examples/files.ts'
import { type HttpExample, toHttpExample } from './examples/http-example.ts'
import * as records from './examples/records.ts'
import * as service from './examples/service.ts'
import { type HeaderName, type ParameterName, parameterAt } from './parameters.ts'
import type { SchemaName } from './schemas.ts'

export const tags = {
  Tables:
    'A database exists while it has a table, a bucket or a task. Indices are declared when a table is created and cannot be changed later.',
  Records: 'A record is a JSON object with a hash key and an optional range key.',
  'Queries and batches':
    'Many records at once: read in the order of an index or by their keys, or written all or none.',
  Items: 'An item is a record as the plain document that it holds: `data` alone, without keys and version around it.',
  Changes:
    'A table that keeps its changes has a log of them, in the order of the commits. Readers go on from their cursor and miss nothing.',
  Buckets:
    'A bucket holds files. Its name may also be that of a table. A deleted bucket can be restored for 7 days, with all its files.',
  Files: 'A file is bytes with a name, a content type and metadata. Files are private unless they are made public.',
  Tasks:
    'A task is a named kind of work. Its runs are pushed to a server, or claimed by workers, until one succeeds or its attempts are used up. A deleted task can be restored for 7 days, with all its runs.',
  Runs: 'A run is one piece of work of a task. Applications add runs and look at them; the holder of the lease of an attempt finishes it.',
  'API keys': 'Managing keys needs a secret key without a `databases` limit. Every key may describe itself.',
  'User tokens':
    'With a user token the browser or phone of one person calls this API, for what its grants name and nothing else. Issuers are login services whose tokens are exchanged for user tokens.',
  Service: 'These routes need no API key.',
}

export interface ResponseDescription {
  description: string
  /** The schema of the body. If there are several, the body matches one of them. */
  schema?: SchemaName | SchemaName[]
  contentType?: string
  /** The answer is bytes of any type, or may also be. */
  bytes?: 'only' | 'or JSON'
  headers?: HeaderName[]
}

/** The description of an operation over HTTP. */
export interface HttpOperation {
  tag: keyof typeof tags
  /** The title in the contents of the page, where each has one line. Default: the summary. */
  title?: string
  summary: string
  description: string
  /** The summary on a path that ends with the range key. */
  summaryWithRangeKey?: string
  /** Query parameters and headers, apart from those that every request may have. */
  parameters?: ParameterName[]
  body?: { schema: SchemaName; required: boolean; description: string }
  /** The body is bytes. */
  bytes?: { description: string; type?: string }
  /** No API key is read: the URL is enough. No error is cached. */
  byUrl?: true
  /** Shared caches may keep the answer: it is the same for every caller. */
  isShared?: true
  responses: Record<number, ResponseDescription>
  /** Error codes, apart from those that HTTP adds. */
  codes: ErrorCode[]
  examples: HttpExample[]
}

const verbsAreKeys = `The words ${verbs.map((verb) => `\`${verb}\``).join(', ')} are verbs only for POST and PUT: here they are ordinary hash keys.`

const tagOf: Record<Exclude<Area, 'organizations'>, keyof typeof tags> = {
  tables: 'Tables',
  records: 'Records',
  items: 'Items',
  changes: 'Changes',
  buckets: 'Buckets',
  files: 'Files',
  tasks: 'Tasks',
  runs: 'Runs',
  'api-keys': 'API keys',
  tokens: 'User tokens',
}

const nameOf = ({ $ref }: Schema): SchemaName => $ref!.split('/').at(-1) as SchemaName

/** Notes that follow from the route and the condition of an operation. */
const notesOf = ({ route, condition, note }: CatalogueEntry): string[] => {
  const { method, body, bytes, path } = route!
  if (bytes !== undefined) return [note!]
  const notes: string[] = []
  if (body !== undefined && body.required === undefined) notes.push('The body may be empty.')
  if (method === 'DELETE') {
    notes.push(`The request has no body${condition === undefined ? '' : '; `If-None-Match` is not allowed here'}.`)
  } else if (condition === 'put') notes.push('Send the condition as `If-Match` or `If-None-Match`.')
  else if (condition === 'change') notes.push('Send the condition as `If-Match`.')
  else if (condition === 'read') notes.push('`If-Match` is not allowed here.')
  if (path.endsWith(':rangeKey?')) notes.push(verbsAreKeys)
  return note === undefined ? notes : [...notes, note]
}

/** Tells whether the response of the route is bytes without the parameter that it always has here. */
const answersBytes = ({ route }: CatalogueEntry): boolean => route!.queryAlways !== undefined

const headersOf = (entry: CatalogueEntry): ParameterName[] => {
  const { route, condition, respondsMinimal, idempotencyScope } = entry
  return [
    ...(answersBytes(entry) ? (['record', ...bytesParameters] as const) : []),
    ...(route!.bytes === undefined || route!.bytesType !== undefined ? [] : (['Content-Digest'] as const)),
    ...(condition === 'put' || condition === 'change' ? (['If-Match'] as const) : []),
    ...(condition === 'put' ? (['If-None-Match: *'] as const) : []),
    ...(condition === 'read' ? (['If-None-Match'] as const) : []),
    ...(respondsMinimal ? (['Prefer'] as const) : []),
    ...(idempotencyScope === undefined ? [] : (['Idempotency-Key'] as const)),
  ]
}

const responsesOf = (entry: CatalogueEntry): Record<number, ResponseDescription> => {
  const { area, condition, responses, respondsMinimal, minimalOutput, returns, output, version } = entry
  const { idempotencyScope, replayedOutput } = entry
  const names: HeaderName[] = [
    ...(version === undefined ? [] : (['ETag'] as const)),
    ...(idempotencyScope === undefined ? [] : (['Idempotency-Replayed'] as const)),
  ]
  const headers = names.length === 0 ? undefined : names
  const answer = (description: string): ResponseDescription => ({
    description,
    schema: replayedOutput === undefined ? nameOf(output) : [nameOf(output), nameOf(replayedOutput)],
    ...(headers && { headers }),
  })
  if (answersBytes(entry)) return recordOrBytes
  if (responses !== undefined) {
    const created = { 201: answer(responses.created) }
    return responses.existing === undefined ? created : { 200: answer(responses.existing), ...created }
  }
  if (minimalOutput !== undefined) {
    const description = `${returns} With \`Prefer: return=minimal\` it has no \`data\`.`
    return { 200: { ...answer(description), schema: [nameOf(output), nameOf(minimalOutput)] } }
  }
  const done: Record<number, ResponseDescription> = { 200: answer(returns) }
  if (respondsMinimal) done[204] = { description: 'Written; the answer to `Prefer: return=minimal`.', headers }
  if (condition === 'read') {
    done[304] = { description: `The ${area === 'runs' ? 'run' : 'record'} is still at that version.`, headers }
  }
  return done
}

/** The HTTP description of an operation of the catalogue. */
const routed = (entry: CatalogueEntry): HttpOperation => {
  const { area } = entry
  const hasBytes = answersBytes(entry)
  const route = entry.route!
  const responses = responsesOf(entry)
  // An answer without a body is one that the request asks for by a header.
  const statuses = Object.keys(responses)
    .map(Number)
    .filter((status) => status < 300 && status !== 206 && responses[status]!.schema !== undefined)
  const status = { done: Math.max(...statuses), unchanged: Math.min(...statuses) }
  const tagged = responses[status.done]!.headers?.includes('ETag') ?? false
  const summaries = route.path.endsWith('?')
    ? {
        summary: `${entry.title} without a range key`,
        summaryWithRangeKey: `${entry.title} with a range key`,
      }
    : { summary: entry.summary }
  return {
    tag: (entry.tag as keyof typeof tags | undefined) ?? tagOf[area as keyof typeof tagOf],
    title: entry.title,
    ...summaries,
    description: [entry.description, ...notesOf(entry), ...(hasBytes ? [bytesNote] : [])].join(' '),
    parameters: [...(route.query ?? []).map((name) => parameterAt(route.path, name)), ...headersOf(entry)],
    body: route.body && {
      schema: route.body.schema,
      required: route.body.required === true,
      description: `JSON in UTF-8, at most ${binaryBytes(route.body.bytesMax ?? plainBodyBytesMax)}.`,
    },
    ...(route.bytes && {
      bytes: { description: entry.input.properties![route.bytes]!.description!, type: route.bytesType },
    }),
    responses,
    codes: [...codesOf(entry), ...(hasBytes ? (['precondition_failed', 'range_not_satisfiable'] as const) : [])],
    examples: [
      ...entry.examples.map((example) => toHttpExample(entry, example, status, tagged)),
      ...(hasBytes ? files.getFile : []),
    ],
  }
}

const copies =
  'Compressed for clients that accept gzip. The answer has an `ETag`; with it in `If-None-Match` the answer is 304 while the copy is current.'
const currentCopy = { 304: { description: 'The copy is current.' } }
const ownAddress =
  'Its URLs begin with the address at which the request reached the server, or with the address that the operator has set.'
/** Parameters of requests for bytes. */
const bytesParameters = ['If-Match: bytes', 'If-None-Match: bytes', 'Range', 'If-Range'] as const
/** Answers to them. */
const bytesResponses = {
  206: {
    description: 'The bytes of the range.',
    bytes: 'only' as const,
    headers: ['ETag: bytes' as const, 'Content-Range' as const],
  },
  304: { description: 'The copy is current.', headers: ['ETag: bytes or record' as const] },
}
const damagedBytes =
  'If bytes of more than 1 MiB are damaged, the connection is cut before the last of them. Parts are not compared.'

const recordOrBytes: Record<number, ResponseDescription> = {
  200: {
    description: 'The bytes of the file, or its record.',
    schema: 'FileRecord',
    bytes: 'or JSON',
    headers: ['ETag: bytes or record'],
  },
  ...bytesResponses,
}
const bytesNote = `The answer is the bytes of the file, with its own content type and its SHA-256 as the \`ETag\`; with \`record=true\` it is the record as JSON, with the version as the \`ETag\`. For the bytes, conditions and one range work as HTTP defines: 206 with a part, 304, 412 and 416. With \`record=true\` only \`If-None-Match\` is allowed. HEAD answers the headers alone. ${damagedBytes}`

const signedUrls =
  'A signed URL has further parameters: use it exactly as it was given. Any change, also another method or an added parameter, is `invalid_signature`. It is valid until it expires, or until the API key that signed it expires or is revoked.'
const urlCodes = [
  'invalid_key',
  'revoked_api_key',
  'invalid_signature',
  'expired_url',
  'file_not_found',
  'precondition_failed',
  'internal',
  'store_damaged',
  'unavailable',
] as const
const urlParameters: ParameterName[] = ['v', 'download', 'expires', 'key', 'signature']
const foundRecord = { 304: { description: 'The record is still at that version.', headers: ['ETag' as const] } }

const entries = catalogue()

/** The endpoints that no operation owns. */
const endpoints = {
  headRecord: {
    title: 'Check a record',
    tag: 'Records',
    summary: 'Check for a record without a range key',
    summaryWithRangeKey: 'Check for a record with a range key',
    description: 'Like GET, but without a body: tells whether the record exists, and its version.',
    parameters: ['If-None-Match'],
    responses: { 200: { description: 'The record exists.', headers: ['ETag'] }, ...foundRecord },
    codes: codesOf(entries.getRecord),
    examples: records.headRecord,
  },
  headItem: {
    title: 'Check an item',
    tag: 'Items',
    summary: 'Check for an item',
    description: 'Like GET, but without a body: tells whether the record exists, and its version.',
    parameters: ['itemRangeKey', 'If-None-Match'],
    responses: { 200: { description: 'The record exists.', headers: ['ETag'] }, ...foundRecord },
    codes: codesOf(entries.getItem),
    examples: records.headItem,
  },
  readFileByUrl: {
    title: 'Get by URL',
    tag: 'Files',
    summary: 'Get a file by its URL',
    description: `The bytes of a public file at its permanent URL, or of any file at a signed one. No API key is needed, and none is read. An unknown bucket, an unknown file and a private file without a signature give the same answer. Conditions and one range work as HTTP defines. At a permanent URL unknown parameters are ignored. ${damagedBytes} ${signedUrls}`,
    byUrl: true,
    parameters: [...urlParameters, ...bytesParameters],
    responses: {
      200: { description: 'The bytes of the file.', bytes: 'only', headers: ['ETag: bytes'] },
      206: bytesResponses[206],
      304: { description: 'The copy is current.', headers: ['ETag: bytes'] },
    },
    codes: [...urlCodes, 'range_not_satisfiable'],
    examples: files.readFileByUrl,
  },
  headFileByUrl: {
    title: 'Check by URL',
    tag: 'Files',
    summary: 'Check for a file by its URL',
    description: 'Like GET, but without a body: tells whether the file exists, its size, its type and its tag.',
    byUrl: true,
    parameters: [...urlParameters, 'If-Match: bytes', 'If-None-Match: bytes'],
    responses: {
      200: { description: 'The file exists.', bytes: 'only', headers: ['ETag: bytes'] },
      304: { description: 'The copy is current.', headers: ['ETag: bytes'] },
    },
    codes: [...urlCodes],
    examples: files.headFileByUrl,
  },
  putFileByUrl: {
    title: 'Upload to a URL',
    tag: 'Files',
    summary: 'Upload a file to a signed URL',
    description: `Everybody who has a URL for an upload may put that one file, without an API key: ask for the URL with \`method: "PUT"\`. What the URL was made with counts: its type, the most bytes, the visibility, the metadata, the ttl and whether it may replace a file. Condition headers are rejected. Without a signature the answer is 404. ${signedUrls}`,
    byUrl: true,
    parameters: ['expires', 'key', 'signature', 'Content-Digest'],
    bytes: { description: entries.putFile.input.properties!.content!.description! },
    responses: { 200: { description: 'The record of the file.', schema: 'FileRecord', headers: ['ETag'] } },
    codes: [
      ...urlCodes,
      'invalid_request',
      'digest_mismatch',
      'file_too_large',
      'unsupported_media_type',
      'outcome_unknown',
      'storage_full',
    ],
    examples: files.putFileByUrl,
  },
  // ── Service: about the process, not a store ──────────────────────────────────────────────────────────────────

  getEntryPoint: {
    tag: 'Service',
    summary: 'Where is everything?',
    description:
      'The name and version of the server, and the addresses of its descriptions. A browser, whose `Accept` prefers `text/html`, is redirected to the console, or to the page with the descriptions if there is none.',
    responses: {
      200: { description: 'Name, version and addresses.', schema: 'EntryPoint' },
      302: { description: 'To a browser: the page for people.', headers: ['Location'] },
    },
    codes: ['internal'],
    examples: service.getEntryPoint,
  },
  checkHealth: {
    title: 'Is it alive?',
    tag: 'Service',
    summary: 'Is the process alive?',
    description: 'Liveness probe.',
    responses: { 200: { description: 'The process is alive.', schema: 'Health' } },
    codes: [],
    examples: service.checkHealth,
  },
  checkReadiness: {
    title: 'Is it ready?',
    tag: 'Service',
    summary: 'Can the process serve requests?',
    description: 'Readiness probe: 503 while the store cannot be used.',
    responses: { 200: { description: 'The process can serve requests.', schema: 'Health' } },
    codes: ['unavailable'],
    examples: service.checkReadiness,
  },
  getDescription: {
    title: 'OpenAPI document',
    tag: 'Service',
    summary: 'Get this description as OpenAPI',
    description: `An OpenAPI 3.1 document, generated from the routes that the server uses. With \`area\` it has the paths of that area only, and is a valid document of its own. ${copies}`,
    parameters: ['area'],
    responses: { 200: { description: 'The document.', schema: 'OpenApi' }, ...currentCopy },
    codes: ['invalid_request', 'internal'],
    examples: service.getDescription,
  },
  getDocsPage: {
    title: 'This page',
    tag: 'Service',
    summary: 'Get this description as a web page',
    description: `One HTML page that loads nothing else. ${copies}`,
    responses: {
      200: {
        description: 'The page.',
        contentType: 'text/html',
        schema: 'Page',
        headers: ['Content-Security-Policy'],
      },
      ...currentCopy,
    },
    codes: ['internal'],
    examples: service.getDocsPage,
  },
  getDocsText: {
    title: 'Manual as Markdown',
    tag: 'Service',
    summary: 'Get the manual of the API as Markdown',
    description: `Every route, rule and limit in one text. ${ownAddress} ${copies}`,
    isShared: true,
    responses: {
      200: { description: 'The text.', contentType: 'text/markdown', schema: 'Markdown' },
      ...currentCopy,
    },
    codes: ['internal'],
    examples: service.getDocsText,
  },
  getSkill: {
    title: 'Skill for agents',
    tag: 'Service',
    summary: 'Get the skill for agents',
    description: `An Agent Skill: the way from the first request to queries, pages, conditions, batches and errors, in under 5,000 tokens. ${ownAddress} ${copies}`,
    isShared: true,
    responses: {
      200: { description: 'The skill.', contentType: 'text/markdown', schema: 'Markdown' },
      ...currentCopy,
    },
    codes: ['internal'],
    examples: service.getSkill,
  },
  getSkillIndex: {
    title: 'Index of skills',
    tag: 'Service',
    summary: 'Find the skill',
    description: `The skill with its address and digest, for programs that install skills: Agent Skills discovery, draft 0.2.0. ${copies}`,
    isShared: true,
    responses: { 200: { description: 'The index.', schema: 'SkillIndex' }, ...currentCopy },
    codes: ['internal'],
    examples: service.getSkillIndex,
  },
  getLlmsText: {
    title: 'Pages for agents',
    tag: 'Service',
    summary: 'List the pages for agents',
    description: `A short text with links, for agents that know only the address of the server. ${ownAddress} ${copies}`,
    isShared: true,
    responses: {
      200: { description: 'The text.', contentType: 'text/plain', schema: 'Markdown' },
      ...currentCopy,
    },
    codes: ['internal'],
    examples: service.getLlmsText,
  },
  preflight: {
    title: 'Preflight',
    tag: 'Service',
    summary: 'What may a page from another origin send?',
    description:
      'Browsers send this before some requests (CORS preflight). Every path gives the same answer, even an unknown one.',
    parameters: ['Access-Control-Request-Method'],
    responses: {
      204: {
        description: 'All methods and headers that the service accepts.',
        headers: ['Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age'],
      },
    },
    codes: [],
    examples: service.preflight,
  },
} satisfies Record<
  FileUrlOperationId | 'headRecord' | 'headItem' | 'headFileByUrl' | 'preflight' | OpenOperationId,
  HttpOperation
>

export type HttpOperationId = RoutedOperationId | keyof typeof endpoints

/** All operations that can be requested, by id. */
export const operations: Readonly<Record<string, HttpOperation>> = {
  ...Object.fromEntries(routedOperations.map(({ id }) => [id, routed(entries[id as RoutedOperationId])])),
  ...endpoints,
}

const ofRangeKey = 'WithRangeKey'

/** The title in the contents of the page. */
export const titleOf = (operationId: string, summary: string): string => {
  const { title = summary } = operations[operationId.replace(ofRangeKey, '')]!
  return operationId.endsWith(ofRangeKey) ? `${title.split(' ')[0]}, with range key` : title
}
