import type {
  BatchRequest,
  BatchResponse,
  DeleteOperation,
  DeleteRecordResponse,
  FindRequest,
  FindResponse,
  IndexQuery,
  MinimalRecordResponse,
  PrimaryQuery,
  PutOperation,
  PutRecordRequest,
  QueryItem,
  QueryResponse,
  RangeOperator,
  RecencyQuery,
  RecordKey,
  RecordResponse,
} from '@cubbydb/client'
import {
  batchOperationsMax,
  countRowsMax,
  dataBytesMax,
  dataDepthMax,
  findKeysMax,
  indexStringBytesMax,
  keyBytesMax,
  pageBytesMax,
  pageRowsDefault,
  pageRowsMax,
  ttlSecondsMax,
} from '../../core/limits.ts'
import { selections } from '../../core/records/query.ts'
import { rangeOperators } from '../../core/records/range.ts'
import { slots } from '../../core/tables/indices.ts'
import {
  closed,
  cursorText,
  exactIntegers,
  freeObject,
  milliseconds,
  nextCursor,
  nullable,
  number,
  objectOf,
  ref,
  type Schema,
} from '../schema.ts'

const recordKeyPart: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: keyBytesMax,
  not: { enum: ['.', '..'] },
  description: `1 to ${number(keyBytesMax)} bytes of UTF-8, any character, no lone surrogates. Only \`.\` and \`..\` are rejected, because URL parsers drop such segments.`,
}

const hashKey = ref('RecordKeyPart')
const rangeKey: Schema = {
  ...ref('RecordKeyPart'),
  description:
    'Optional. A record without a range key is stored with `#`: `"rangeKey": "#"` and no range key address the same record.',
}

const data = freeObject(
  `Any JSON object of at most ${number(dataBytesMax)} bytes, as it was sent, and ${dataDepthMax} levels. It is returned exactly as it was sent, with the same member order, number text and white space.`,
)

const ttl: Schema = {
  type: 'integer',
  format: 'int64',
  minimum: 0,
  maximum: ttlSecondsMax,
  description:
    'When the record expires: epoch seconds, not a duration. The record no longer exists once this second begins. A time more than a day in the past is rejected. A put without `ttl` removes an earlier `ttl`.',
}

const updatedAt = milliseconds(
  "The record's version, which is also its `ETag`. It strictly increases with every write while the record exists.",
)

const ifUpdatedAt = nullable('integer', {
  ...exactIntegers,
  description:
    'The `updatedAt` that the record must have; null: it must not exist. If not, the whole batch is rejected.',
})

const limit: Schema = {
  type: 'integer',
  minimum: 1,
  description: `The maximum number of items in a page, ${pageRowsDefault} if absent. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}. With \`select: "count"\` the maximum number of records that are counted: ${number(countRowsMax)} if absent, and at most.`,
}

const select: Schema = {
  type: 'string',
  enum: selections,
  description:
    'What the page has of each record. `data`: all of it, as without `select`. `keys`: all but `data`. `count`: nothing; `items` is empty, and `count` is the number of records that matched.',
}

const page = {
  select,
  limit,
  cursor: nullable('string', {
    ...cursorText,
    description:
      'The `cursor` of the previous page, with the same hash, index, range and direction; null: the first page.',
  }),
}

const ascending = (absent: boolean): Schema => ({
  type: 'boolean',
  description: absent ? 'False: descending order. True if absent.' : 'True: oldest first. False if absent.',
})

/** An object with one operator, or with a lower and an upper bound. */
const range = (description: string, operand: Schema, operators: readonly RangeOperator[]): Schema => ({
  type: 'object',
  description: `${description} One operator, or one of \`gt\` and \`gte\` together with one of \`lt\` and \`lte\`; \`between\` takes \`[low, high]\`, both inclusive. Two bounds have the same type, and the lower one is not above the upper one.`,
  minProperties: 1,
  maxProperties: 2,
  properties: Object.fromEntries(operators.map((operator) => [operator, operandOf(operator, operand)])),
  additionalProperties: false,
  not: {
    anyOf: [
      hasAll('gt', 'gte'),
      hasAll('lt', 'lte'),
      ...operators.filter(isWholeRange).map((operator) => ({ ...hasAll(operator), minProperties: 2 })),
    ],
  },
})

/** Tools that check schemas want to see every required member among the properties. */
const hasAll = (...operators: RangeOperator[]): Schema => ({
  properties: Object.fromEntries(operators.map((operator) => [operator, {}])),
  required: operators,
})

/** An operator that no other may be combined with. */
const isWholeRange = (operator: RangeOperator): boolean => ['eq', 'between', 'beginsWith'].includes(operator)

const operandOf = (operator: RangeOperator, operand: Schema): Schema => {
  if (operator === 'between') return { type: 'array', items: operand, minItems: 2, maxItems: 2 }
  return operator === 'beginsWith' ? { type: 'string', maxLength: indexStringBytesMax } : operand
}

const primaryQuery = closed(
  objectOf<PrimaryQuery>('The records with one hash key, ordered by range key.', ['hash'], {
    hash: { ...ref('RecordKeyPart'), description: 'The hash key.' },
    range: ref('PrimaryRange'),
    ...page,
    ascending: ascending(true),
  }),
)

const recencyQuery = closed(
  objectOf<RecencyQuery>(
    'All records of the table, ordered by `updatedAt`, newest first unless `ascending` is true.',
    ['index'],
    {
      index: { type: 'string', const: 't' },
      range: ref('RecencyRange'),
      ...page,
      ascending: ascending(false),
    },
  ),
)

const indexQuery = closed(
  objectOf<IndexQuery>(
    'The records with one value in the hash field of an index, ordered by its range field.',
    ['index', 'hash'],
    {
      index: { type: 'string', enum: slots },
      hash: { ...ref('IndexValue'), description: 'The value of the hash field.' },
      range: ref('IndexRange'),
      ...page,
      ascending: ascending(true),
    },
  ),
)

const hourAndMinute = '([01][0-9]|2[0-3]):[0-5][0-9]'
/** As `core/text/iso-date-time.ts` reads it, except for days that a month does not have. */
const isoDateTime = `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T${hourAndMinute}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${hourAndMinute})$`

/** The three forms of a query. */
export const queryForms: Schema[] = [primaryQuery, recencyQuery, indexQuery]

export const recordSchemas = {
  RecordKeyPart: recordKeyPart,
  PutRecordRequest: closed(
    objectOf<PutRecordRequest>('A record to write.', ['hashKey', 'data'], { hashKey, rangeKey, data, ttl }),
  ),
  StoredRecord: objectOf<RecordResponse>('A record.', ['hashKey', 'data', 'updatedAt'], {
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
  DeleteResult: objectOf<DeleteRecordResponse>('The result of a delete.', ['deleted'], {
    deleted: { type: 'boolean', description: 'False if there was no such record.' },
  }),

  IndexValue: {
    anyOf: [{ type: 'string', maxLength: indexStringBytesMax }, { type: 'number' }, { type: 'boolean' }],
    description: `A string of at most ${number(indexStringBytesMax)} bytes, a number or a boolean. A strict ISO-8601 date-time (\`2026-01-05T10:00:00Z\`) counts as its epoch milliseconds.`,
  },
  PrimaryRange: range('By range key: operands are strings.', ref('RangeKeyOperand'), rangeOperators),
  RangeKeyOperand: { type: 'string', maxLength: keyBytesMax },
  RecencyRange: range(
    'By `updatedAt`: operands are epoch milliseconds or ISO-8601 date-times.',
    ref('Instant'),
    rangeOperators.filter((operator) => operator !== 'beginsWith'),
  ),
  Instant: {
    anyOf: [{ type: 'number' }, { type: 'string', pattern: isoDateTime }],
    description: 'Epoch milliseconds, or an ISO-8601 date-time of a day that exists.',
  },
  IndexRange: range(
    'By the value of `rangeField`; matches only values of the same type as the operand.',
    ref('IndexValue'),
    rangeOperators,
  ),
  PrimaryQuery: primaryQuery,
  RecencyQuery: recencyQuery,
  IndexQuery: indexQuery,
  QueryRequest: {
    description: 'One of three forms: by primary key, by recency, by declared index.',
    oneOf: [ref('PrimaryQuery'), ref('RecencyQuery'), ref('IndexQuery')],
  },
  QueryItem: objectOf<QueryItem>('A record of a page.', ['hashKey', 'updatedAt'], {
    hashKey,
    rangeKey,
    data: { ...data, description: `${data.description} Absent with \`select: "keys"\`.` },
    ttl,
    updatedAt,
  }),
  QueryResponse: objectOf<QueryResponse>(
    `A page. It ends early where the JSON text of \`items\`, keys and escapes included, would exceed ${number(pageBytesMax)} bytes. A page may be short or even empty and still have a cursor: only null means the end.`,
    ['items', 'count', 'cursor'],
    {
      items: { type: 'array', items: ref('QueryItem'), maxItems: pageRowsMax },
      count: {
        type: 'integer',
        minimum: 0,
        maximum: countRowsMax,
        description: 'The number of items in this page; with `select: "count"` the number of records that matched.',
      },
      cursor: nextCursor,
    },
  ),

  RecordKey: closed(objectOf<RecordKey>('The key of a record.', ['hashKey'], { hashKey, rangeKey })),
  FindRequest: closed(
    objectOf<FindRequest>('The keys of the records to read.', ['keys'], {
      keys: {
        type: 'array',
        minItems: 1,
        maxItems: findKeysMax,
        items: ref('RecordKey'),
        description: 'No two keys may name the same record.',
      },
    }),
  ),
  FindResponse: objectOf<FindResponse>(
    'The records found. Every key asked for is in exactly one of the three lists.',
    ['items', 'missing', 'unread'],
    {
      items: {
        type: 'array',
        items: ref('StoredRecord'),
        maxItems: findKeysMax,
        description: `The records found, in the order of \`keys\`: at most ${number(pageBytesMax)} bytes of JSON text, keys and escapes included.`,
      },
      missing: {
        type: 'array',
        items: ref('RecordKey'),
        maxItems: findKeysMax,
        description: 'The keys of records that do not exist, as asked. `"rangeKey": "#"` is left out.',
      },
      unread: {
        type: 'array',
        items: ref('RecordKey'),
        maxItems: findKeysMax,
        description:
          'The keys for which `items` had no room: that of the first record that did not fit, and all after it. Ask for them again.',
      },
    },
  ),

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
    objectOf<DeleteOperation>('Deletes a record. It is not an error if the record does not exist.', ['op', 'hashKey'], {
      op: { type: 'string', const: 'delete' },
      hashKey,
      rangeKey,
      ifUpdatedAt,
    }),
  ),
  BatchRequest: closed(
    objectOf<BatchRequest>('Operations of which all are applied, or none.', ['operations'], {
      operations: {
        type: 'array',
        minItems: 1,
        maxItems: batchOperationsMax,
        items: { oneOf: [ref('PutOperation'), ref('DeleteOperation')] },
        description: 'No two operations may name the same record.',
      },
    }),
  ),
  BatchResponse: objectOf<BatchResponse>('The result of a batch.', ['count'], {
    count: {
      type: 'integer',
      minimum: 1,
      maximum: batchOperationsMax,
      description: 'The number of operations, all of which were applied.',
    },
  }),
} satisfies Record<string, Schema>
