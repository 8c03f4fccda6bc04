import type {
  BatchRequest,
  BatchResponse,
  DeleteOperation,
  DeleteRecordResponse,
  IndexQuery,
  MinimalRecordResponse,
  PrimaryQuery,
  PutOperation,
  PutRecordRequest,
  QueryResponse,
  RangeOperator,
  RecencyQuery,
  RecordResponse,
} from '@cubby/client'
import {
  batchOperationsMax,
  cursorCharactersMax,
  dataBytesMax,
  dataDepthMax,
  indexStringBytesMax,
  keyBytesMax,
  pageBytesMax,
  pageRowsDefault,
  pageRowsMax,
  ttlSecondsMax,
} from '../../core/limits.ts'
import { rangeOperators } from '../../core/records/range.ts'
import { slots } from '../../core/tables/indices.ts'
import { closed, milliseconds, nextCursor, nullable, number, objectOf, ref, type Schema } from '../schema.ts'

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

const primaryQuery = closed(
  objectOf<PrimaryQuery>('The records of one hash key, by range key.', ['hash'], {
    hash: { ...ref('RecordKeyPart'), description: 'The hash key.' },
    range: ref('PrimaryRange'),
    ...page,
    ascending: ascending(true),
  }),
)

const recencyQuery = closed(
  objectOf<RecencyQuery>('All records by `updatedAt`, newest first unless `ascending` is true.', ['index'], {
    index: { type: 'string', const: 't' },
    range: ref('RecencyRange'),
    ...page,
    ascending: ascending(false),
  }),
)

const indexQuery = closed(
  objectOf<IndexQuery>('The records with one value of an index’s hash field, by its range field.', ['index', 'hash'], {
    index: { type: 'string', enum: slots },
    hash: { ...ref('IndexValue'), description: 'The value of the hash field.' },
    range: ref('IndexRange'),
    ...page,
    ascending: ascending(true),
  }),
)

/** The three forms of a query. */
export const queryForms: Schema[] = [primaryQuery, recencyQuery, indexQuery]

export const recordSchemas = {
  RecordKeyPart: recordKeyPart,
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
  PrimaryQuery: primaryQuery,
  RecencyQuery: recencyQuery,
  IndexQuery: indexQuery,
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
      cursor: nextCursor,
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
} satisfies Record<string, Schema>
