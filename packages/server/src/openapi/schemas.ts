import type {
  ActiveTable,
  BatchRequest,
  BatchResponse,
  CreateKeyRequest,
  CreateKeyResponse,
  CreateTableRequest,
  DeletedTable,
  DeleteOperation,
  DeleteRecordResponse,
  ErrorResponse,
  IndexDeclaration,
  IndexQuery,
  KeyMetadata,
  ListDatabasesResponse,
  ListKeysResponse,
  ListTablesResponse,
  MinimalRecordResponse,
  PrimaryQuery,
  PutOperation,
  PutRecordRequest,
  QueryResponse,
  RangeOperator,
  RecencyQuery,
  RecordResponse,
  RestoreTableRequest,
} from '@cubby/client'
import { errorCodes } from '../core/errors.ts'
import {
  batchOperationsMax,
  cursorCharactersMax,
  dataBytesMax,
  dataDepthMax,
  indexFieldCharactersMax,
  indexStringBytesMax,
  keyBytesMax,
  keyDatabasesMax,
  keyNameCharactersMax,
  pageBytesMax,
  pageRowsDefault,
  pageRowsMax,
  recoveryMs,
  requestIdCharactersMax,
  ttlSecondsMax,
} from '../core/limits.ts'
import { rangeOperators } from '../core/records/range.ts'
import { slots } from '../core/tables/indices.ts'
import { meanings } from './errors.ts'
import type { Schema } from './types.ts'

// Objects are tied to the wire types: a field that one has and the other has not does not compile.

type RequiredKey<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T] & string
type Properties<T> = { [K in keyof T]-?: T[K] extends undefined ? never : Schema }
type OwnProperties<T> = { [K in keyof Properties<T> as Properties<T>[K] extends never ? never : K]: Schema }

const objectOf = <T>(description: string, required: RequiredKey<T>[], properties: OwnProperties<T>): Schema => ({
  type: 'object',
  description,
  properties: properties as Record<string, Schema>,
  ...(required.length === 0 ? {} : { required }),
})

/** Of a request: a member that is not known is refused. */
const closed = (schema: Schema): Schema => ({ ...schema, additionalProperties: false })

export const refTo = (name: SchemaName): Schema => ({ $ref: `#/components/schemas/${name}` })
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
const nullable = (type: string, more: Schema): Schema => ({ ...more, type: [type, 'null'] })

const milliseconds = (description: string): Schema => ({
  type: 'integer',
  format: 'int64',
  description: `${description} Epoch milliseconds.`,
})

const number = (value: number): string => value.toLocaleString('en-US')

const name: Schema = {
  type: 'string',
  pattern: '^[a-z0-9-][a-z0-9_-]{0,63}$',
  minLength: 1,
  maxLength: 64,
  description: 'Matches `[a-z0-9_-]{1,64}`; names that start with `_` are reserved.',
}

const recordKeyPart: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: keyBytesMax,
  not: { enum: ['.', '..'] },
  description: `1 to ${number(keyBytesMax)} bytes of UTF-8, any character, no lone surrogates. Only \`.\` and \`..\` are refused, since URL parsers drop such segments.`,
}

const hashKey = ref('RecordKeyPart')
const rangeKey: Schema = {
  ...ref('RecordKeyPart'),
  description: 'Absent for a record without one, whose slot is `#`: `"rangeKey": "#"` and none are the same record.',
}

const data: Schema = {
  type: 'object',
  description: `Free-form; at most ${number(dataBytesMax)} bytes of JSON as it was sent and ${dataDepthMax} levels deep. It comes back exactly as it was sent: member order, number text and white space too.`,
}

const ttl: Schema = {
  type: 'integer',
  format: 'int64',
  minimum: 0,
  maximum: ttlSecondsMax,
  description:
    'Epoch seconds, not a duration. The record is gone from the instant this second begins. More than a day in the past is refused. A put without `ttl` removes an earlier one.',
}

const updatedAt = milliseconds(
  "The record's version: it strictly increases with every write while the record exists, and is its `ETag`.",
)

const ifUpdatedAt = nullable('integer', {
  format: 'int64',
  description:
    'The `updatedAt` that the record must have; null: it must not exist. Otherwise the whole batch is refused.',
})

const cursor = nullable('string', { description: 'Opaque. Null on the last page; for the next one send it back.' })

const limit: Schema = {
  type: 'integer',
  minimum: 1,
  default: pageRowsDefault,
  description: `How many items a page has at the most. More than ${number(pageRowsMax)} is taken as ${number(pageRowsMax)}.`,
}

const page = {
  limit,
  cursor: nullable('string', {
    maxLength: cursorCharactersMax,
    description:
      'The `cursor` of the answer before, with the same hash, index, range and direction; null is as absent.',
  }),
}

const ascending = (absent: boolean): Schema => ({
  type: 'boolean',
  default: absent,
  description: absent ? 'False: from the highest down.' : 'True: oldest first.',
})

const indices: Schema = {
  type: 'object',
  description: 'The declared indices by slot; `{}` when there are none. They are immutable.',
  properties: Object.fromEntries(slots.map((slot) => [slot, ref('IndexDeclaration')])),
  additionalProperties: false,
}

const indexField = (description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: indexFieldCharactersMax,
  description,
})

/** An object with exactly one operator. */
const range = (description: string, operand: Schema, operators: readonly RangeOperator[]): Schema => ({
  type: 'object',
  description: `${description} Exactly one operator; \`between\` takes \`[low, high]\`, both inclusive and of one type.`,
  minProperties: 1,
  maxProperties: 1,
  properties: Object.fromEntries(operators.map((operator) => [operator, operandOf(operator, operand)])),
  additionalProperties: false,
})

const operandOf = (operator: RangeOperator, operand: Schema): Schema => {
  if (operator === 'between') return { type: 'array', items: operand, minItems: 2, maxItems: 2 }
  return operator === 'beginsWith' ? { type: 'string', maxLength: indexStringBytesMax } : operand
}

const keyFields = {
  id: { type: 'string', description: 'Names the key in `DELETE /api/keys/{id}`.' },
  kind: { type: 'string', enum: ['secret', 'public'] },
  name: nullable('string', {}),
  masked: { type: 'string', description: 'The prefix and the last four characters, as `svc_live_****wxyz`.' },
  databases: nullable('array', { items: ref('Name'), description: 'The databases it is limited to; null: all.' }),
  createdAt: milliseconds('When the key was made.'),
  expiresAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds, or null.' }),
} satisfies Record<string, Schema>

const tableFields = {
  db: ref('Name'),
  table: ref('Name'),
  indices: ref('Indices'),
  createdAt: milliseconds('When the table was made.'),
}

export const schemas = {
  Name: name,
  RecordKeyPart: recordKeyPart,

  // Tables
  IndexDeclaration: closed(
    objectOf<IndexDeclaration>('An index over top-level fields of `data`.', ['hashField'], {
      hashField: indexField('The field whose value a query gives as `hash`.'),
      rangeField: indexField('The field by which the records of one hash are ordered.'),
    }),
  ),
  Indices: indices,
  CreateTableRequest: closed(
    objectOf<CreateTableRequest>('What a table is created with.', [], { indices: ref('Indices') }),
  ),
  RestoreTableRequest: closed(
    objectOf<RestoreTableRequest>('Which table to restore, where several of one name were deleted.', [], {
      deletedAt: milliseconds('The `deletedAt` of the table; absent: the one deleted last.'),
    }),
  ),
  ActiveTable: objectOf<ActiveTable>('A table.', ['db', 'table', 'indices', 'status', 'createdAt'], {
    ...tableFields,
    status: { type: 'string', const: 'active' },
  }),
  DeletedTable: objectOf<DeletedTable>(
    'A soft-deleted table.',
    ['db', 'table', 'indices', 'status', 'createdAt', 'deletedAt', 'recoverableUntil'],
    {
      ...tableFields,
      status: { type: 'string', const: 'deleted' },
      deletedAt: milliseconds('When it was deleted.'),
      recoverableUntil: milliseconds(`Until when it can be restored: ${recoveryMs / 86_400_000} days later.`),
    },
  ),
  ListTablesResponse: objectOf<ListTablesResponse>('Tables by name.', ['tables', 'cursor'], {
    tables: { type: 'array', items: { oneOf: [ref('ActiveTable'), ref('DeletedTable')] } },
    cursor,
  }),
  ListDatabasesResponse: objectOf<ListDatabasesResponse>('Databases by name.', ['databases', 'cursor'], {
    databases: { type: 'array', items: ref('Name') },
    cursor,
  }),

  // Records
  PutRecordRequest: closed(
    objectOf<PutRecordRequest>('A record to write.', ['hashKey', 'data'], { hashKey, rangeKey, data, ttl }),
  ),
  Record: objectOf<RecordResponse>('A record.', ['hashKey', 'data', 'updatedAt'], {
    hashKey,
    rangeKey,
    data,
    ttl,
    updatedAt,
  }),
  MinimalRecord: objectOf<MinimalRecordResponse>(
    'A record without its data: the answer to `Prefer: return=minimal`.',
    ['hashKey', 'updatedAt'],
    { hashKey, rangeKey, ttl, updatedAt },
  ),
  DeleteRecordResponse: objectOf<DeleteRecordResponse>('What a delete did.', ['deleted'], {
    deleted: { type: 'boolean', description: 'False if there was no such record.' },
  }),

  // Queries
  IndexValue: {
    type: ['string', 'number', 'boolean'],
    maxLength: indexStringBytesMax,
    description: `A string of at most ${number(indexStringBytesMax)} bytes, a number or a boolean. A strict ISO-8601 date-time (\`2026-01-05T10:00:00Z\`) counts as its epoch milliseconds.`,
  },
  PrimaryRange: range('By range key: operands are strings.', ref('RangeKeyOperand'), rangeOperators),
  RangeKeyOperand: { type: 'string', maxLength: keyBytesMax },
  RecencyRange: range(
    'By `updatedAt`: operands are epoch milliseconds or ISO-8601 date-times.',
    ref('Instant'),
    rangeOperators.filter((operator) => operator !== 'beginsWith'),
  ),
  Instant: { type: ['number', 'string'], description: 'Epoch milliseconds, or an ISO-8601 date-time.' },
  IndexRange: range(
    'By the value of `rangeField`; it matches only values of its operand’s own type.',
    ref('IndexValue'),
    rangeOperators,
  ),
  PrimaryQuery: closed(
    objectOf<PrimaryQuery>('The records of one hash key, by range key.', ['hash'], {
      hash: { ...ref('RecordKeyPart'), description: 'The hash key.' },
      range: ref('PrimaryRange'),
      ...page,
      ascending: ascending(true),
    }),
  ),
  RecencyQuery: closed(
    objectOf<RecencyQuery>('All records by `updatedAt`, newest first unless `ascending` is true.', ['index'], {
      index: { type: 'string', const: 't' },
      range: ref('RecencyRange'),
      ...page,
      ascending: ascending(false),
    }),
  ),
  IndexQuery: closed(
    objectOf<IndexQuery>(
      'The records with one value of an index’s hash field, by its range field.',
      ['index', 'hash'],
      {
        index: { type: 'string', enum: slots },
        hash: { ...ref('IndexValue'), description: 'The value of the hash field.' },
        range: ref('IndexRange'),
        ...page,
        ascending: ascending(true),
      },
    ),
  ),
  QueryRequest: {
    description: 'One of three forms: by primary key, by recency, by declared index.',
    oneOf: [ref('PrimaryQuery'), ref('RecencyQuery'), ref('IndexQuery')],
  },
  QueryResponse: objectOf<QueryResponse>(
    `A page. It also ends before the record with which the text of \`items\` would pass ${number(pageBytesMax)} bytes, keys and escapes included. It may be short, even empty, and still carry a cursor: only null means the end.`,
    ['items', 'count', 'cursor'],
    {
      items: { type: 'array', items: ref('Record'), maxItems: pageRowsMax },
      count: { type: 'integer', minimum: 0, maximum: pageRowsMax, description: 'How many items this page has.' },
      cursor,
    },
  ),

  // Batches
  PutOperation: closed(
    objectOf<PutOperation>('Writes a record.', ['op', 'hashKey', 'data'], {
      op: { type: 'string', const: 'put' },
      hashKey,
      rangeKey,
      data,
      ttl,
      ifUpdatedAt,
    }),
  ),
  DeleteOperation: closed(
    objectOf<DeleteOperation>('Removes a record; one that is absent counts as removed.', ['op', 'hashKey'], {
      op: { type: 'string', const: 'delete' },
      hashKey,
      rangeKey,
      ifUpdatedAt,
    }),
  ),
  BatchRequest: closed(
    objectOf<BatchRequest>('Operations that are applied all or none.', ['operations'], {
      operations: {
        type: 'array',
        minItems: 1,
        maxItems: batchOperationsMax,
        items: { oneOf: [ref('PutOperation'), ref('DeleteOperation')] },
        description: 'Each names another record.',
      },
    }),
  ),
  BatchResponse: objectOf<BatchResponse>('What a batch did.', ['count'], {
    count: {
      type: 'integer',
      minimum: 1,
      maximum: batchOperationsMax,
      description: 'How many operations were applied: all.',
    },
  }),

  // API keys
  CreateKeyRequest: closed(
    objectOf<CreateKeyRequest>('What a key is to be.', ['kind'], {
      kind: { type: 'string', enum: ['secret', 'public'], description: 'A public key reads; a secret key does all.' },
      name: nullable('string', { minLength: 1, maxLength: keyNameCharactersMax, description: 'For people.' }),
      expiresAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds, in the future.' }),
      databases: nullable('array', {
        items: ref('Name'),
        minItems: 1,
        maxItems: keyDatabasesMax,
        description: 'The databases it is limited to; absent or null: all of the organization.',
      }),
    }),
  ),
  CreateKeyResponse: objectOf<CreateKeyResponse>(
    'A new key. `key` is shown this once.',
    ['id', 'kind', 'name', 'key', 'masked', 'databases', 'createdAt', 'expiresAt'],
    {
      ...keyFields,
      key: { type: 'string', pattern: '^svc_(live|pub)_[0-9A-Za-z]{38}$', description: 'The key itself. Keep it now.' },
    },
  ),
  Key: objectOf<KeyMetadata>(
    'A key as it is listed.',
    ['id', 'kind', 'name', 'masked', 'databases', 'status', 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    {
      ...keyFields,
      status: { type: 'string', enum: ['active', 'expired', 'revoked'] },
      lastUsedAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds; may lag by a minute.' }),
      revokedAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds, or null.' }),
    },
  ),
  ListKeysResponse: objectOf<ListKeysResponse>('Keys, newest first.', ['keys', 'cursor'], {
    keys: { type: 'array', items: ref('Key') },
    cursor,
  }),

  // Service
  Health: {
    type: 'object',
    description: 'All is well.',
    properties: { status: { type: 'string', enum: ['ok', 'ready'] } },
    required: ['status'],
  },
  OpenApi: {
    type: 'object',
    description: 'An OpenAPI document.',
    properties: { openapi: { type: 'string', pattern: '^3\\.1\\.' }, info: { type: 'object' } },
    required: ['openapi', 'info'],
  },
  Page: { type: 'string', description: 'HTML.' },
  Error: objectOf<ErrorResponse>('The body of every answer that is not a success.', ['error'], {
    error: objectOf<ErrorResponse['error']>('What went wrong.', ['code', 'message', 'requestId'], {
      code: {
        type: 'string',
        enum: errorCodes,
        'x-enumDescriptions': meanings,
        description: 'What a program decides by. Codes may be added; none is removed or changes its meaning.',
      },
      message: { type: 'string', description: 'For people: what was found and what was expected.' },
      field: {
        type: 'string',
        description: 'The one field at fault, as a path: `data.status`, `operations[3].hashKey`.',
      },
      hint: { type: 'string', description: 'The next step to take, where there is one to suggest.' },
      requestId: { type: 'string', maxLength: requestIdCharactersMax, description: 'As in `X-Request-Id`.' },
    }),
  }),
} satisfies Record<string, Schema>

export type SchemaName = keyof typeof schemas
