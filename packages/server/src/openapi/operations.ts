import type { ErrorCode } from '../core/errors.ts'
import { batchBodyBytesMax, bodyBytesMax, plainBodyBytesMax } from '../core/limits.ts'
import * as apiKeys from './examples/api-keys.ts'
import type { Example } from './examples/example.ts'
import * as queries from './examples/queries.ts'
import * as records from './examples/records.ts'
import * as service from './examples/service.ts'
import * as tables from './examples/tables.ts'
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

export interface Operation {
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
  /** Error codes, beside those that follow from path, key and body. */
  codes: ErrorCode[]
  examples: Example[]
}

const bodyOf = (schema: SchemaName, required = true, bytesMax = plainBodyBytesMax): Operation['body'] => ({
  schema,
  required,
  description: `JSON in UTF-8, at most ${binaryBytes(bytesMax)}.`,
})

const pages = 'Pages end with `"cursor": null`; send another `cursor` back for the next one.'

export const pathOfVerb =
  '`query`, `batch` and `restore` are verbs only for POST; here the word is a hash key like any other.'

/** What each route means. A route in the table names one of these; without one it does not compile. */
export const operations = {
  // ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────────

  listDatabases: {
    tag: 'Tables',
    summary: 'List databases',
    description: `The databases that have a table and that the key may see, by name. ${pages}`,
    parameters: ['limit', 'cursor'],
    answers: { 200: { description: 'A page of names.', schema: 'ListDatabasesResponse' } },
    codes: ['invalid_cursor'],
    examples: tables.listDatabases,
  },
  listTables: {
    tag: 'Tables',
    summary: 'List tables',
    description: `The tables of a database, by name. A database without tables answers an empty list. ${pages}`,
    parameters: ['limit', 'cursor', 'deleted'],
    answers: { 200: { description: 'A page of tables.', schema: 'ListTablesResponse' } },
    codes: ['invalid_cursor'],
    examples: tables.listTables,
  },
  createTable: {
    tag: 'Tables',
    summary: 'Create a table',
    description:
      'The body is empty or declares up to five indices, in the slots `i1` to `i5`. Indices are sparse: a record without the fields is stored and is not in the index. The index `t`, by `updatedAt`, is on every table and is not declared.',
    body: bodyOf('CreateTableRequest', false),
    answers: {
      200: { description: 'It was there already, with the same indices.', schema: 'ActiveTable' },
      201: { description: 'Created.', schema: 'ActiveTable' },
    },
    codes: ['invalid_index', 'table_exists'],
    examples: tables.createTable,
  },
  describeTable: {
    tag: 'Tables',
    summary: 'Describe a table',
    description: 'Its indices and when it was made.',
    answers: { 200: { description: 'The table.', schema: 'ActiveTable' } },
    codes: ['table_not_found'],
    examples: tables.describeTable,
  },
  deleteTable: {
    tag: 'Tables',
    summary: 'Delete a table, recoverably',
    description:
      'From the moment of the answer the table is gone for everything but restore, and its name is free. For 7 days it can be restored with all its records; then they are removed for good. Takes no body.',
    answers: { 200: { description: 'The table as it was deleted.', schema: 'DeletedTable' } },
    codes: ['table_not_found'],
    examples: tables.deleteTable,
  },
  restoreTable: {
    tag: 'Tables',
    summary: 'Restore a deleted table',
    description:
      'Makes a deleted table active again, with all its records and indices. The body is empty, for the one deleted last, or names another by its `deletedAt`. Active already, and none of that name deleted: 200, unchanged.',
    body: bodyOf('RestoreTableRequest', false),
    answers: { 200: { description: 'The table, active.', schema: 'ActiveTable' } },
    codes: ['table_not_found', 'table_exists'],
    examples: tables.restoreTable,
  },

  // ── Records ────────────────────────────────────────────────────────────────────────────────────────────────

  putRecord: {
    tag: 'Records',
    summary: 'Put a record',
    description:
      'Writes a record, new or in place of the old one. When the answer is sent it is on disk and in every index. With `If-Match` or `If-None-Match` it is written only if the condition holds; of any number of writers that name the same version, at most one wins.',
    parameters: ['If-Match', 'If-None-Match: *', 'Prefer'],
    body: bodyOf('PutRecordRequest', true, bodyBytesMax),
    answers: {
      200: {
        description: 'The record; with `Prefer: return=minimal` without `data`.',
        schema: ['Record', 'MinimalRecord'],
        headers: ['ETag'],
      },
    },
    codes: [
      'invalid_key',
      'invalid_index_value',
      'invalid_ttl',
      'table_not_found',
      'precondition_failed',
      'record_too_large',
    ],
    examples: records.putRecord,
  },
  getRecord: {
    tag: 'Records',
    summary: 'Get a record without a range key',
    summaryWithRangeKey: 'Get a record with a range key',
    summaryNamed: (word) => `Get the record whose hash key is "${word}"`,
    description: 'A record past its `ttl` does not exist. `If-Match` is refused here.',
    parameters: ['If-None-Match'],
    answers: {
      200: { description: 'The record.', schema: 'Record', headers: ['ETag'] },
      304: { description: 'It is still at that version.', headers: ['ETag'] },
    },
    codes: ['table_not_found', 'record_not_found'],
    examples: records.getRecord,
  },
  headRecord: {
    tag: 'Records',
    summary: 'Look for a record without a range key',
    summaryWithRangeKey: 'Look for a record with a range key',
    description: 'As GET, without a body: is it there, and at which version.',
    parameters: ['If-None-Match'],
    answers: {
      200: { description: 'It is there.', headers: ['ETag'] },
      304: { description: 'It is still at that version.', headers: ['ETag'] },
    },
    codes: ['table_not_found', 'record_not_found'],
    examples: records.headRecord,
  },
  deleteRecord: {
    tag: 'Records',
    summary: 'Delete a record without a range key',
    summaryWithRangeKey: 'Delete a record with a range key',
    summaryNamed: (word) => `Delete the record whose hash key is "${word}"`,
    description: 'Deleting what is not there is no error. Takes no body; `If-None-Match` is refused here.',
    parameters: ['If-Match'],
    answers: { 200: { description: 'Whether there was one.', schema: 'DeleteRecordResponse' } },
    codes: ['table_not_found', 'precondition_failed'],
    examples: records.deleteRecord,
  },

  // ── Queries and batches ────────────────────────────────────────────────────────────────────────────────────

  queryRecords: {
    tag: 'Queries and batches',
    summary: 'Query records',
    description: `Three forms:

- by primary key: \`hash\`, in the order of range keys;
- by recency: \`index: "t"\` and no \`hash\`, by \`updatedAt\`, newest first unless \`ascending\` is true;
- by declared index: \`index: "i1"\` to \`"i5"\` and \`hash\`, in the order of the index's range field.

Values in an index come in this order: false, true, numbers, strings by their UTF-8 bytes. A write is in every index when its answer is sent. ${pages} The cursor belongs to its table, hash, index, range and direction; \`limit\` may change.`,
    body: bodyOf('QueryRequest'),
    answers: { 200: { description: 'A page.', schema: 'QueryResponse' } },
    codes: [
      'invalid_key',
      'invalid_index_value',
      'index_not_declared',
      'invalid_range',
      'invalid_cursor',
      'table_not_found',
    ],
    examples: queries.queryRecords,
  },
  applyBatch: {
    tag: 'Queries and batches',
    summary: 'Put and delete several records at once',
    description:
      'All operations are applied or none, and no reader ever sees a part of them. In an error `field` names the operation: `operations[3].data.status`.',
    body: bodyOf('BatchRequest', true, batchBodyBytesMax),
    answers: { 200: { description: 'All were applied.', schema: 'BatchResponse' } },
    codes: [
      'invalid_key',
      'invalid_index_value',
      'invalid_ttl',
      'batch_too_large',
      'batch_duplicate_keys',
      'table_not_found',
      'precondition_failed',
      'record_too_large',
    ],
    examples: queries.applyBatch,
  },

  // ── API keys ───────────────────────────────────────────────────────────────────────────────────────────────

  createApiKey: {
    tag: 'API keys',
    summary: 'Create an API key',
    description: 'The answer is the only place where the key is ever shown.',
    body: bodyOf('CreateKeyRequest'),
    answers: { 201: { description: 'The new key.', schema: 'CreateKeyResponse' } },
    codes: ['invalid_name', 'reserved_name'],
    examples: apiKeys.createApiKey,
  },
  listApiKeys: {
    tag: 'API keys',
    summary: 'List API keys',
    description: `Of the organization, newest first, masked. ${pages}`,
    parameters: ['limit', 'cursor'],
    answers: { 200: { description: 'A page of keys.', schema: 'ListKeysResponse' } },
    codes: ['invalid_cursor'],
    examples: apiKeys.listApiKeys,
  },
  revokeApiKey: {
    tag: 'API keys',
    summary: 'Revoke an API key',
    description:
      'For good: from the moment of the answer every request with the key gets 403 `revoked_api_key`. Again: 200, unchanged. Takes no body.',
    answers: { 200: { description: 'The key, revoked.', schema: 'Key' } },
    codes: ['key_not_found'],
    examples: apiKeys.revokeApiKey,
  },

  // ── Service ────────────────────────────────────────────────────────────────────────────────────────────────

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
} satisfies Record<string, Operation>

export type OperationId = keyof typeof operations

export const describedAs = (id: OperationId): Operation => operations[id]
