import type { IndexQuery, PrimaryQuery, QueryItem, QueryResponse, RangeOperator, RecencyQuery } from '@cubbydb/client'
import {
  countRowsMax,
  indexStringBytesMax,
  keyBytesMax,
  pageBytesMax,
  pageRowsDefault,
  pageRowsMax,
} from '../../core/limits.ts'
import { selections } from '../../core/records/query.ts'
import { rangeOperators } from '../../core/records/range.ts'
import { slots } from '../../core/tables/indices.ts'
import { closed, cursorText, nextCursor, nullable, number, objectOf, ref, type Schema } from '../schema.ts'
import { data, hashKey, rangeKey, ttl, updatedAt } from './record-members.ts'

const limit: Schema = {
  type: 'integer',
  minimum: 1,
  description: `The maximum number of items in a page, ${pageRowsDefault} if absent. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}. With \`select: "count"\` the maximum number of records that are counted: ${number(countRowsMax)} if absent, and at most.`,
}

const select: Schema = {
  type: 'string',
  enum: selections,
  description:
    'The part of each record that the page has. `data`: all of it, as without `select`. `keys`: all but `data`. `count`: nothing; `items` is empty, and `count` is the number of records that matched.',
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
/** Matches what `core/text/iso-date-time.ts` reads, except for days that a month does not have. */
export const isoDateTime = `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T${hourAndMinute}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${hourAndMinute})$`

/** The three forms of a query. */
export const queryForms: Schema[] = [primaryQuery, recencyQuery, indexQuery]

export const querySchemas = {
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
      hint: {
        type: 'string',
        description: 'Only in an empty first page: values of another type than the operand of `range` are stored.',
      },
    },
  ),
} satisfies Record<string, Schema>
