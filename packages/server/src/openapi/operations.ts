import type { ErrorCode } from '../core/errors.ts'
import { findRoute, type RoutedOperationId } from '../http/routes/operation-routes.ts'
import type { OperationRoute } from '../http/routes/route.ts'
import type { OpenOperationId } from '../http/routes.ts'
import { catalogue, codesOf } from '../operations/catalogue.ts'
import type { CatalogueEntry } from '../operations/catalogue-entry.ts'
import { type HttpExample, toHttpExample } from './examples/http-example.ts'
import * as records from './examples/records.ts'
import * as service from './examples/service.ts'
import { binaryBytes } from './introduction.ts'
import type { HeaderName, ParameterName } from './parameters.ts'
import type { SchemaName } from './schemas.ts'

export const tags = {
  Tables:
    'A database is there as soon as it has a table. Indices are declared when a table is created and never change.',
  Records: 'A record is a JSON object under a hash key and, if you like, a range key.',
  'Queries and batches': 'Many records at once: found in the order of an index, or written all or none.',
  'API keys': 'Key management takes a secret key without a `databases` limit.',
  Service: 'Needs no key.',
}

export interface Answer {
  description: string
  /** Several: any one of them. */
  schema?: SchemaName | SchemaName[]
  contentType?: string
  headers?: HeaderName[]
}

/** What there is to say of an operation over HTTP. */
export interface HttpOperation {
  tag: keyof typeof tags
  summary: string
  description: string
  /** The summary on a path that ends in the range key, and on one that ends in a word which is a verb for POST. */
  summaryWithRangeKey?: string
  summaryNamed?: (word: string) => string
  /** Query parameters and headers, beside those that every request may carry. */
  parameters?: ParameterName[]
  body?: { schema: SchemaName; required: boolean; description: string }
  answers: Record<number, Answer>
  /** Error codes, beside those that HTTP adds. */
  codes: ErrorCode[]
  examples: HttpExample[]
}

export const pathOfVerb =
  '`query`, `batch` and `restore` are verbs only for POST; here the word is a hash key like any other.'

/** What HTTP adds to what the catalogue says. */
interface HttpNotes
  extends Partial<Pick<HttpOperation, 'summary' | 'summaryWithRangeKey' | 'summaryNamed' | 'answers'>> {
  tag: keyof typeof tags
  /** At the end of the description. */
  note?: string
  headers?: ParameterName[]
  examples?: HttpExample[]
}

const outputName = ({ output }: CatalogueEntry): SchemaName => output.$ref!.split('/').at(-1) as SchemaName

const bodyOf = ({ schema, required, bytesMax }: NonNullable<OperationRoute['body']>): HttpOperation['body'] => ({
  schema,
  required,
  description: `JSON in UTF-8, at most ${binaryBytes(bytesMax)}.`,
})

/** An operation of the catalogue on its route. */
const routed = (id: RoutedOperationId, notes: HttpNotes): HttpOperation => {
  const { tag, note, headers = [], examples = [], ...more } = notes
  const entry: CatalogueEntry = catalogue[id]
  const route = findRoute(id)!
  const answers = more.answers ?? { 200: { description: entry.returns, schema: outputName(entry) } }
  const statuses = Object.keys(answers)
    .map(Number)
    .filter((status) => status < 300)
  const status = { done: Math.max(...statuses), unchanged: Math.min(...statuses) }
  const tagged = answers[status.done]!.headers?.includes('ETag') ?? false
  return {
    tag,
    summary: entry.summary,
    ...more,
    description: note === undefined ? entry.description : `${entry.description} ${note}`,
    parameters: [...((route.query ?? []) as ParameterName[]), ...headers],
    body: route.body && bodyOf(route.body),
    answers,
    codes: codesOf(entry),
    examples: [...entry.examples.map((example) => toHttpExample(route, example, status, tagged)), ...examples],
  }
}

const foundRecord = { 304: { description: 'It is still at that version.', headers: ['ETag' as const] } }

/** What each route means. A route in the table names one of these; without one it does not compile. */
export const operations = {
  listDatabases: routed('listDatabases', { tag: 'Tables' }),
  listTables: routed('listTables', { tag: 'Tables' }),
  createTable: routed('createTable', {
    tag: 'Tables',
    note: 'The body may be empty.',
    answers: {
      200: { description: 'It was there already, with the same indices.', schema: 'ActiveTable' },
      201: { description: 'Created.', schema: 'ActiveTable' },
    },
  }),
  describeTable: routed('describeTable', { tag: 'Tables' }),
  deleteTable: routed('deleteTable', { tag: 'Tables', note: 'Takes no body.' }),
  restoreTable: routed('restoreTable', { tag: 'Tables', note: 'The body may be empty.' }),

  putRecord: routed('putRecord', {
    tag: 'Records',
    note: 'The condition is `If-Match` or `If-None-Match`.',
    headers: ['If-Match', 'If-None-Match: *', 'Prefer'],
    answers: {
      200: {
        description: 'The record; with `Prefer: return=minimal` without `data`.',
        schema: ['Record', 'MinimalRecord'],
        headers: ['ETag'],
      },
    },
    examples: records.putRecord,
  }),
  getRecord: routed('getRecord', {
    tag: 'Records',
    summary: 'Get a record without a range key',
    summaryWithRangeKey: 'Get a record with a range key',
    summaryNamed: (word) => `Get the record whose hash key is "${word}"`,
    note: '`If-Match` is refused here.',
    headers: ['If-None-Match'],
    answers: { 200: { description: 'The record.', schema: 'Record', headers: ['ETag'] }, ...foundRecord },
    examples: records.getRecord,
  }),
  headRecord: {
    tag: 'Records',
    summary: 'Look for a record without a range key',
    summaryWithRangeKey: 'Look for a record with a range key',
    description: 'As GET, without a body: is it there, and at which version.',
    parameters: ['If-None-Match'],
    answers: { 200: { description: 'It is there.', headers: ['ETag'] }, ...foundRecord },
    codes: codesOf(catalogue.getRecord),
    examples: records.headRecord,
  },
  deleteRecord: routed('deleteRecord', {
    tag: 'Records',
    summary: 'Delete a record without a range key',
    summaryWithRangeKey: 'Delete a record with a range key',
    summaryNamed: (word) => `Delete the record whose hash key is "${word}"`,
    note: 'Takes no body; `If-None-Match` is refused here.',
    headers: ['If-Match'],
    examples: records.deleteRecord,
  }),

  queryRecords: routed('queryRecords', { tag: 'Queries and batches' }),
  applyBatch: routed('applyBatch', { tag: 'Queries and batches' }),

  createApiKey: routed('createApiKey', {
    tag: 'API keys',
    answers: { 201: { description: 'The new key.', schema: 'CreateKeyResponse' } },
  }),
  listApiKeys: routed('listApiKeys', { tag: 'API keys' }),
  revokeApiKey: routed('revokeApiKey', { tag: 'API keys', note: 'Takes no body.' }),

  // ── Service: of the process, not of a store ──────────────────────────────────────────────────────────────────

  checkHealth: {
    tag: 'Service',
    summary: 'Is the process alive?',
    description: 'For the one who restarts it.',
    answers: { 200: { description: 'It is.', schema: 'Health' } },
    codes: [],
    examples: service.checkHealth,
  },
  checkReadiness: {
    tag: 'Service',
    summary: 'Can it serve?',
    description: 'For the one who sends it requests: 503 while the store cannot be used.',
    answers: { 200: { description: 'It can.', schema: 'Health' } },
    codes: ['unavailable'],
    examples: service.checkReadiness,
  },
  getDescription: {
    tag: 'Service',
    summary: 'This description',
    description: 'OpenAPI 3.1, made from the table of routes that serves the requests.',
    answers: { 200: { description: 'The document.', schema: 'OpenApi' } },
    codes: ['internal'],
    examples: service.getDescription,
  },
  getDocsPage: {
    tag: 'Service',
    summary: 'This description, to read',
    description: 'One page that loads nothing else.',
    answers: {
      200: {
        description: 'The page.',
        contentType: 'text/html',
        schema: 'Page',
        headers: ['Content-Security-Policy'],
      },
    },
    codes: ['internal'],
    examples: service.getDocsPage,
  },
  preflight: {
    tag: 'Service',
    summary: 'What may a page of another origin send?',
    description:
      'Sent by browsers before a request. It is shown for this path; every other path, known or not, answers the same.',
    parameters: ['Access-Control-Request-Method'],
    answers: {
      204: {
        description: 'All that the service takes.',
        headers: ['Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Max-Age'],
      },
    },
    codes: [],
    examples: service.preflight,
  },
} satisfies Record<RoutedOperationId | 'headRecord' | 'preflight' | OpenOperationId, HttpOperation>

export type HttpOperationId = keyof typeof operations

export const describedAs = (id: HttpOperationId): HttpOperation => operations[id]
