import type { ErrorCode } from '../core/errors.ts'
import { fileBytesMax } from '../core/limits.ts'
import type { DoorOperationId } from '../http/files-door.ts'
import { findRoute, type RoutedOperationId, verbs } from '../http/routes/operation-routes.ts'
import type { OperationRoute } from '../http/routes/route.ts'
import type { OpenOperationId } from '../http/routes.ts'
import { catalogue, codesOf } from '../operations/catalogue.ts'
import type { CatalogueEntry } from '../operations/catalogue-entry.ts'
import * as files from './examples/files.ts'
import { type HttpExample, toHttpExample } from './examples/http-example.ts'
import * as items from './examples/items.ts'
import * as records from './examples/records.ts'
import * as runs from './examples/runs.ts'
import * as service from './examples/service.ts'
import { binaryBytes } from './introduction.ts'
import { type HeaderName, type ParameterName, parameterAt } from './parameters.ts'
import type { SchemaName } from './schemas.ts'

export const tags = {
  Tables:
    'A database exists while it has a table, a bucket or a task. Indices are declared when a table is created and cannot be changed later.',
  Records: 'A record is a JSON object with a hash key and an optional range key.',
  'Queries and batches':
    'Many records at once: read in the order of an index or by their keys, or written all or none.',
  Items: 'An item is a record as the plain document that it holds: `data` alone, without keys and version around it.',
  Buckets:
    'A bucket holds files. Its name may also be that of a table. A deleted bucket can be restored for 7 days, with all its files.',
  Files: 'A file is bytes with a name, a content type and metadata. Files are private unless they are made public.',
  Tasks:
    'A task is a named kind of work. Its runs are pushed to a server, or claimed by workers, until one succeeds or its attempts are used up. A deleted task can be restored for 7 days, with all its runs.',
  Runs: 'A run is one piece of work of a task. Applications add runs and look at them; whoever holds the lease of an attempt finishes it.',
  'API keys': 'Managing keys needs a secret key without a `databases` limit. Every key may describe itself.',
  Service: 'These routes need no API key.',
}

export interface Answer {
  description: string
  /** With several, the answer has one of them. */
  schema?: SchemaName | SchemaName[]
  contentType?: string
  /** The answer is bytes of any type, or may also be. */
  bytes?: 'only' | 'or JSON'
  headers?: HeaderName[]
}

/** The description of an operation over HTTP. */
export interface HttpOperation {
  tag: keyof typeof tags
  summary: string
  description: string
  /** The summary on a path that ends with the range key. */
  summaryWithRangeKey?: string
  /** Query parameters and headers, apart from those that every request may have. */
  parameters?: ParameterName[]
  body?: { schema: SchemaName; required: boolean; description: string }
  /** The body is bytes. */
  bytes?: { description: string }
  /** No API key is read: the URL is enough. No error is cached. */
  byUrl?: true
  /** Shared caches may keep the answer: it is the same for every caller. */
  isShared?: true
  answers: Record<number, Answer>
  /** Error codes, apart from those that HTTP adds. */
  codes: ErrorCode[]
  examples: HttpExample[]
}

const verbsAreKeys = `The words ${verbs.map((verb) => `\`${verb}\``).join(', ')} are verbs only for POST: here they are ordinary hash keys.`

/** What HTTP adds to the catalogue's description. */
interface HttpNotes extends Partial<Pick<HttpOperation, 'summary' | 'summaryWithRangeKey' | 'answers'>> {
  tag: keyof typeof tags
  /** Appended to the description. */
  note?: string
  headers?: ParameterName[]
  /** Codes that only HTTP has. */
  codes?: ErrorCode[]
  examples?: HttpExample[]
}

const outputName = ({ output }: CatalogueEntry): SchemaName => output.$ref!.split('/').at(-1) as SchemaName

const bodyOf = ({ schema, required, bytesMax }: NonNullable<OperationRoute['body']>): HttpOperation['body'] => ({
  schema,
  required,
  description: `JSON in UTF-8, at most ${binaryBytes(bytesMax)}.`,
})

/** The HTTP description of an operation of the catalogue. */
const routed = (id: RoutedOperationId, notes: HttpNotes): HttpOperation => {
  const { tag, note, headers = [], examples = [], codes = [], ...more } = notes
  const entry: CatalogueEntry = catalogue[id]
  const route = findRoute(id)!
  const answers = more.answers ?? { 200: { description: entry.returns, schema: outputName(entry) } }
  // An answer without a body is one that the request asks for by a header.
  const statuses = Object.keys(answers)
    .map(Number)
    .filter((status) => status < 300 && status !== 206 && answers[status]!.schema !== undefined)
  const status = { done: Math.max(...statuses), unchanged: Math.min(...statuses) }
  const tagged = answers[status.done]!.headers?.includes('ETag') ?? false
  return {
    tag,
    summary: entry.summary,
    ...more,
    description: note === undefined ? entry.description : `${entry.description} ${note}`,
    parameters: [...(route.query ?? []).map((name) => parameterAt(route.paths[0]!, name)), ...headers],
    body: route.body && bodyOf(route.body),
    ...(route.bytes && { bytes: { description: entry.input.properties![route.bytes]!.description! } }),
    answers,
    codes: [...codesOf(entry), ...codes],
    examples: [...entry.examples.map((example) => toHttpExample(route, example, status, tagged)), ...examples],
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
const bytesAnswers = {
  206: {
    description: 'The bytes of the range.',
    bytes: 'only' as const,
    headers: ['ETag: bytes' as const, 'Content-Range' as const],
  },
  304: { description: 'The copy is current.', headers: ['ETag: bytes or record' as const] },
}
const damagedBytes =
  'If bytes of more than 1 MiB are damaged, the connection is cut before the last of them. Parts are not compared.'

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

/** The description of each route. A route without one does not compile. */
export const operations = {
  listDatabases: routed('listDatabases', { tag: 'Tables' }),
  listTables: routed('listTables', { tag: 'Tables' }),
  createTable: routed('createTable', {
    tag: 'Tables',
    note: 'The body may be empty.',
    answers: {
      200: { description: 'The table already exists with the same indices.', schema: 'ActiveTable' },
      201: { description: 'Created.', schema: 'ActiveTable' },
    },
  }),
  describeTable: routed('describeTable', { tag: 'Tables' }),
  deleteTable: routed('deleteTable', { tag: 'Tables', note: 'The request has no body.' }),
  restoreTable: routed('restoreTable', { tag: 'Tables', note: 'The body may be empty.' }),

  putRecord: routed('putRecord', {
    tag: 'Records',
    note: 'Send the condition as `If-Match` or `If-None-Match`.',
    headers: ['If-Match', 'If-None-Match: *', 'Prefer'],
    answers: {
      200: {
        description: 'The record. With `Prefer: return=minimal` it has no `data`.',
        schema: ['StoredRecord', 'MinimalRecord'],
        headers: ['ETag'],
      },
    },
    examples: records.putRecord,
  }),
  getRecord: routed('getRecord', {
    tag: 'Records',
    summary: 'Get a record without a range key',
    summaryWithRangeKey: 'Get a record with a range key',
    note: `\`If-Match\` is not allowed here. ${verbsAreKeys}`,
    headers: ['If-None-Match'],
    answers: { 200: { description: 'The record.', schema: 'StoredRecord', headers: ['ETag'] }, ...foundRecord },
    examples: records.getRecord,
  }),
  headRecord: {
    tag: 'Records',
    summary: 'Check for a record without a range key',
    summaryWithRangeKey: 'Check for a record with a range key',
    description: 'Like GET, but without a body: tells whether the record exists, and its version.',
    parameters: ['If-None-Match'],
    answers: { 200: { description: 'The record exists.', headers: ['ETag'] }, ...foundRecord },
    codes: codesOf(catalogue.getRecord),
    examples: records.headRecord,
  },
  deleteRecord: routed('deleteRecord', {
    tag: 'Records',
    summary: 'Delete a record without a range key',
    summaryWithRangeKey: 'Delete a record with a range key',
    note: `The request has no body; \`If-None-Match\` is not allowed here. ${verbsAreKeys}`,
    headers: ['If-Match'],
  }),

  queryRecords: routed('queryRecords', { tag: 'Queries and batches' }),
  findRecords: routed('findRecords', { tag: 'Queries and batches' }),
  applyBatch: routed('applyBatch', { tag: 'Queries and batches' }),

  getItem: routed('getItem', {
    tag: 'Items',
    note: '`If-Match` is not allowed here.',
    headers: ['If-None-Match'],
    answers: { 200: { description: 'The document.', schema: 'Item', headers: ['ETag'] }, ...foundRecord },
    examples: items.getItem,
  }),
  headItem: {
    tag: 'Items',
    summary: 'Check for an item',
    description: 'Like GET, but without a body: tells whether the record exists, and its version.',
    parameters: ['itemRangeKey', 'If-None-Match'],
    answers: { 200: { description: 'The record exists.', headers: ['ETag'] }, ...foundRecord },
    codes: codesOf(catalogue.getItem),
    examples: items.headItem,
  },
  putItem: routed('putItem', {
    tag: 'Items',
    note: 'Send the condition as `If-Match` or `If-None-Match`.',
    headers: ['If-Match', 'If-None-Match: *', 'Prefer'],
    answers: {
      200: { description: 'The document.', schema: 'Item', headers: ['ETag'] },
      204: { description: 'Written; the answer to `Prefer: return=minimal`.', headers: ['ETag'] },
    },
    examples: items.putItem,
  }),
  deleteItem: routed('deleteItem', {
    tag: 'Items',
    note: 'The request has no body; `If-None-Match` is not allowed here.',
    headers: ['If-Match'],
  }),
  listBuckets: routed('listBuckets', { tag: 'Buckets' }),
  createBucket: routed('createBucket', {
    tag: 'Buckets',
    note: 'The body may be empty.',
    answers: {
      200: { description: 'The bucket already exists.', schema: 'ActiveBucket' },
      201: { description: 'Created.', schema: 'ActiveBucket' },
    },
  }),
  describeBucket: routed('describeBucket', { tag: 'Buckets' }),
  deleteBucket: routed('deleteBucket', { tag: 'Buckets', note: 'The request has no body.' }),
  restoreBucket: routed('restoreBucket', { tag: 'Buckets', note: 'The body may be empty.' }),

  putFile: routed('putFile', {
    tag: 'Files',
    note: `The body is the bytes of the file, with a \`Content-Length\` or chunked, at most ${binaryBytes(fileBytesMax)}; it may be empty. Send the condition as \`If-Match\` or \`If-None-Match\`. \`Content-Type\` is the type of the file; \`application/x-www-form-urlencoded\`, which some tools add, counts as none, and \`multipart/form-data\` is rejected. What the head of the request decides is answered without waiting for the body.`,
    headers: ['Content-Digest', 'If-Match', 'If-None-Match: *'],
    answers: { 200: { description: 'The record of the file.', schema: 'FileRecord', headers: ['ETag'] } },
  }),
  getFile: routed('getFile', {
    tag: 'Files',
    note: `The answer is the bytes of the file, with its own content type and its SHA-256 as the \`ETag\`; with \`record=true\` it is the record as JSON, with the version as the \`ETag\`. Of the bytes, conditions and one range work as HTTP defines: 206 with a part, 304, 412 and 416. With \`record=true\` only \`If-None-Match\` is allowed. HEAD answers the headers alone. ${damagedBytes}`,
    headers: ['record', ...bytesParameters],
    answers: {
      200: {
        description: 'The bytes of the file, or its record.',
        schema: 'FileRecord',
        bytes: 'or JSON',
        headers: ['ETag: bytes or record'],
      },
      ...bytesAnswers,
    },
    codes: ['precondition_failed', 'range_not_satisfiable'],
    examples: files.getFile,
  }),
  changeFile: routed('changeFile', {
    tag: 'Files',
    note: 'Send the condition as `If-Match`.',
    headers: ['If-Match'],
    answers: { 200: { description: 'The record of the file.', schema: 'FileRecord', headers: ['ETag'] } },
  }),
  deleteFile: routed('deleteFile', {
    tag: 'Files',
    note: 'The request has no body.',
    headers: ['If-Match'],
  }),
  getFileUrl: routed('getFileUrl', {
    tag: 'Files',
    note: 'A public key gets the permanent URLs of public files only. Use the URL without an API key: GET and HEAD read the file, PUT uploads it.',
  }),
  queryFiles: routed('queryFiles', { tag: 'Files', note: 'The body may be empty.' }),

  listTasks: routed('listTasks', { tag: 'Tasks' }),
  declareTask: routed('declareTask', {
    tag: 'Tasks',
    note: 'The body may be empty. Send the condition as `If-Match` or `If-None-Match`.',
    headers: ['If-Match', 'If-None-Match: *'],
    answers: {
      200: { description: 'The task existed; it has the new declaration.', schema: 'DeclaredTask', headers: ['ETag'] },
      201: { description: 'Created.', schema: 'DeclaredTask', headers: ['ETag'] },
    },
  }),
  describeTask: routed('describeTask', {
    tag: 'Tasks',
    note: 'The answer is never 304, because `oldestRunAt` and `nextRunAt` change without a new version. `If-Match` is not allowed here.',
    answers: { 200: { description: 'The task.', schema: 'ActiveTask', headers: ['ETag'] } },
  }),
  deleteTask: routed('deleteTask', {
    tag: 'Tasks',
    note: 'The request has no body; `If-None-Match` is not allowed here.',
    headers: ['If-Match'],
  }),
  restoreTask: routed('restoreTask', { tag: 'Tasks', note: 'The body may be empty.' }),
  createTaskSecret: routed('createTaskSecret', { tag: 'Tasks', note: 'The body may be empty.' }),

  runTask: routed('runTask', {
    tag: 'Runs',
    note: 'The body may be empty.',
    answers: {
      200: { description: 'The run with that id, or the queued run of that key.', schema: 'Run' },
      201: { description: 'Created.', schema: 'Run' },
    },
  }),
  getRun: routed('getRun', {
    tag: 'Runs',
    note: '`If-Match` is not allowed here.',
    headers: ['If-None-Match'],
    answers: {
      200: { description: 'The run.', schema: 'RunView', headers: ['ETag'] },
      304: { description: 'The run is still at that version.', headers: ['ETag'] },
    },
    examples: runs.getRun,
  }),
  queryRuns: routed('queryRuns', { tag: 'Runs', note: 'The body may be empty.' }),
  claimRuns: routed('claimRuns', {
    tag: 'Runs',
    note: 'The body may be empty. For a caller that closes its connection while it waits, nothing is claimed.',
  }),
  extendRun: routed('extendRun', { tag: 'Runs' }),
  finishRun: routed('finishRun', { tag: 'Runs' }),
  cancelRun: routed('cancelRun', { tag: 'Runs', note: 'The body may be empty.' }),
  retryRun: routed('retryRun', { tag: 'Runs', note: 'The body may be empty.' }),
  applyTaskBatch: routed('applyTaskBatch', { tag: 'Runs' }),

  readFileByUrl: {
    tag: 'Files',
    summary: 'Get a file by its URL',
    description: `The bytes of a public file at its permanent URL, or of any file at a signed one. No API key is needed, and none is read. An unknown bucket, an unknown file and a private file without a signature give the same answer. Conditions and one range work as HTTP defines. At a permanent URL unknown parameters are ignored. ${damagedBytes} ${signedUrls}`,
    byUrl: true,
    parameters: [...urlParameters, ...bytesParameters],
    answers: {
      200: { description: 'The bytes of the file.', bytes: 'only', headers: ['ETag: bytes'] },
      206: bytesAnswers[206],
      304: { description: 'The copy is current.', headers: ['ETag: bytes'] },
    },
    codes: [...urlCodes, 'range_not_satisfiable'],
    examples: files.readFileByUrl,
  },
  headFileByUrl: {
    tag: 'Files',
    summary: 'Check for a file by its URL',
    description: 'Like GET, but without a body: tells whether the file exists, its size, its type and its tag.',
    byUrl: true,
    parameters: [...urlParameters, 'If-Match: bytes', 'If-None-Match: bytes'],
    answers: {
      200: { description: 'The file exists.', bytes: 'only', headers: ['ETag: bytes'] },
      304: { description: 'The copy is current.', headers: ['ETag: bytes'] },
    },
    codes: [...urlCodes],
    examples: files.headFileByUrl,
  },
  putFileByUrl: {
    tag: 'Files',
    summary: 'Upload a file to a signed URL',
    description: `Whoever has a URL for an upload may put that one file, without an API key: ask for the URL with \`method: "PUT"\`. What the URL was made with counts: its type, the most bytes, the visibility, the metadata, the ttl and whether it may replace a file. Condition headers are rejected. Without a signature the answer is 404. ${signedUrls}`,
    byUrl: true,
    parameters: ['expires', 'key', 'signature', 'Content-Digest'],
    bytes: { description: catalogue.putFile.input.properties!.content!.description! },
    answers: { 200: { description: 'The record of the file.', schema: 'FileRecord', headers: ['ETag'] } },
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

  createApiKey: routed('createApiKey', {
    tag: 'API keys',
    answers: { 201: { description: 'The new key.', schema: 'CreateKeyResponse' } },
  }),
  listApiKeys: routed('listApiKeys', { tag: 'API keys' }),
  describeOwnApiKey: routed('describeOwnApiKey', { tag: 'API keys' }),
  revokeApiKey: routed('revokeApiKey', { tag: 'API keys', note: 'The request has no body.' }),

  // ── Service: about the process, not a store ──────────────────────────────────────────────────────────────────

  getEntryPoint: {
    tag: 'Service',
    summary: 'Where is everything?',
    description:
      'The name and version of the server, and the addresses of its descriptions. A browser, whose `Accept` prefers `text/html`, is redirected to the console, or to the page with the descriptions if there is none.',
    answers: {
      200: { description: 'Name, version and addresses.', schema: 'EntryPoint' },
      302: { description: 'To a browser: the page for people.', headers: ['Location'] },
    },
    codes: ['internal'],
    examples: service.getEntryPoint,
  },
  checkHealth: {
    tag: 'Service',
    summary: 'Is the process alive?',
    description: 'Liveness probe.',
    answers: { 200: { description: 'The process is alive.', schema: 'Health' } },
    codes: [],
    examples: service.checkHealth,
  },
  checkReadiness: {
    tag: 'Service',
    summary: 'Can the process serve requests?',
    description: 'Readiness probe: 503 while the store cannot be used.',
    answers: { 200: { description: 'The process can serve requests.', schema: 'Health' } },
    codes: ['unavailable'],
    examples: service.checkReadiness,
  },
  getDescription: {
    tag: 'Service',
    summary: 'Get this description as OpenAPI',
    description: `An OpenAPI 3.1 document, generated from the routes that the server uses. ${copies}`,
    answers: { 200: { description: 'The document.', schema: 'OpenApi' }, ...currentCopy },
    codes: ['internal'],
    examples: service.getDescription,
  },
  getDocsPage: {
    tag: 'Service',
    summary: 'Get this description as a web page',
    description: `One HTML page that loads nothing else. ${copies}`,
    answers: {
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
    tag: 'Service',
    summary: 'Get the manual of the API as Markdown',
    description: `Every route, rule and limit in one text. ${ownAddress} ${copies}`,
    isShared: true,
    answers: {
      200: { description: 'The text.', contentType: 'text/markdown', schema: 'Markdown' },
      ...currentCopy,
    },
    codes: ['internal'],
    examples: service.getDocsText,
  },
  getSkill: {
    tag: 'Service',
    summary: 'Get the skill for agents',
    description: `An Agent Skill: the way from the first request to queries, pages, conditions, batches and errors, in under 5,000 tokens. ${ownAddress} ${copies}`,
    isShared: true,
    answers: {
      200: { description: 'The skill.', contentType: 'text/markdown', schema: 'Markdown' },
      ...currentCopy,
    },
    codes: ['internal'],
    examples: service.getSkill,
  },
  getSkillIndex: {
    tag: 'Service',
    summary: 'Find the skill',
    description: `The skill with its address and digest, for programs that install skills: Agent Skills discovery, draft 0.2.0. ${copies}`,
    isShared: true,
    answers: { 200: { description: 'The index.', schema: 'SkillIndex' }, ...currentCopy },
    codes: ['internal'],
    examples: service.getSkillIndex,
  },
  getLlmsText: {
    tag: 'Service',
    summary: 'List the pages for agents',
    description: `A short text with links, for agents that know only the address of the server. ${ownAddress} ${copies}`,
    isShared: true,
    answers: {
      200: { description: 'The text.', contentType: 'text/plain', schema: 'Markdown' },
      ...currentCopy,
    },
    codes: ['internal'],
    examples: service.getLlmsText,
  },
  preflight: {
    tag: 'Service',
    summary: 'What may a page from another origin send?',
    description:
      'Browsers send this before some requests (CORS preflight). Every path gives the same answer, even an unknown one.',
    parameters: ['Access-Control-Request-Method'],
    answers: {
      204: {
        description: 'All methods and headers that the service accepts.',
        headers: ['Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age'],
      },
    },
    codes: [],
    examples: service.preflight,
  },
} satisfies Record<
  RoutedOperationId | DoorOperationId | 'headRecord' | 'headItem' | 'headFileByUrl' | 'preflight' | OpenOperationId,
  HttpOperation
>

export type HttpOperationId = keyof typeof operations

export const describedAs = (id: HttpOperationId): HttpOperation => operations[id]
