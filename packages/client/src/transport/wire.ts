// The JSON bodies of all requests and responses. `ttl` is in epoch seconds, every `…At` in epoch milliseconds. Fields
// may be added to responses at any time; readers ignore unknown fields.

import type { ErrorCode } from './error-codes.ts'

// ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────

/** The body of every error response. */
export interface ErrorResponse {
  error: {
    code: ErrorCode
    message: string
    /** The wrong field, as a path: `data.status`, `operations[3].hashKey`. */
    field?: string
    /** A suggestion of the server what to do next, if it has one. */
    hint?: string
    /** The number of lines that were stored, if a load ended early. */
    count?: number
    requestId: string
  }
}

// ── Tables ───────────────────────────────────────────────────────────────────────────────────────────────────

export type Slot = 'i1' | 'i2' | 'i3' | 'i4' | 'i5'

export interface IndexDeclaration {
  /** A top-level field of `data`. */
  readonly hashField: string
  readonly rangeField?: string
}

export type Indices = { readonly [S in Slot]?: IndexDeclaration }

/** How long a table keeps its changes at least, and since when it does. */
export interface TableChanges {
  keepHours: number
  since: number
}

/** `POST /v1/:db/:table`. */
export interface CreateTableRequest {
  indices?: Indices
  /** The table keeps its changes, for 24 hours if `keepHours` is absent. */
  changes?: { keepHours?: number }
}

export interface ActiveTable {
  db: string
  table: string
  /** `{}` when there are none. */
  indices: Indices
  status: 'active'
  createdAt: number
  /** Absent if it keeps no changes. */
  changes?: TableChanges
}

/** A soft-deleted table: its records are kept until `recoverableUntil`. */
export interface DeletedTable extends Omit<ActiveTable, 'status'> {
  status: 'deleted'
  deletedAt: number
  recoverableUntil: number
}

/** A table's metadata, as create, describe, list, drop and restore return it. */
export type TableMetadata = ActiveTable | DeletedTable

/** `POST /v1/:db/:table/restore`. Without `deletedAt`: the table that was deleted last. */
export interface RestoreTableRequest {
  deletedAt?: number
}

/** `GET /v1/:db`. */
export interface ListTablesResponse<T extends TableMetadata = TableMetadata> {
  tables: T[]
  cursor: string | null
}

/** `GET /v1`. */
export interface ListDatabasesResponse {
  databases: string[]
  cursor: string | null
}

// ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────

/** A record's address. No `rangeKey` and the range key `"#"` are the same record. */
export interface RecordKey {
  hashKey: string
  rangeKey?: string
}

/** `PUT /v1/:db/:table`. */
export interface PutRecordRequest<Data = Record<string, unknown>> extends RecordKey {
  data: Data
  ttl?: number
}

/** `PATCH /v1/:db/:table`. Places are named by JSON Pointer: `/total`. */
export interface PatchRecordRequest extends RecordKey {
  merge?: Record<string, unknown>
  increment?: Record<string, number | { by: number; min?: number; max?: number }>
  append?: Record<string, readonly unknown[]>
  /** Null removes it, absent leaves it as it is. */
  ttl?: number | null
}

/** The response to a put or patch with `Prefer: return=minimal`. */
export interface MinimalRecordResponse extends RecordKey {
  ttl?: number
  /** The record's version. It increases with every write while the record exists. */
  updatedAt: number
}

/** The response to a get or a put, and an item of a query page. */
export interface RecordResponse<Data = Record<string, unknown>> extends MinimalRecordResponse {
  data: Data
}

/** `DELETE` of a record. */
export interface DeleteRecordResponse {
  /** False if there was no record. */
  deleted: boolean
}

// ── Queries ──────────────────────────────────────────────────────────────────────────────────────────────────

/** A value that an index accepts. A strict ISO-8601 date-time is read as epoch milliseconds. */
export type IndexValue = string | number | boolean

export type RangeOperator = 'eq' | 'lt' | 'lte' | 'gt' | 'gte' | 'between' | 'beginsWith'

type RangeOperand<Operator extends RangeOperator, Value> = Operator extends 'between'
  ? readonly [low: Value, high: Value]
  : Operator extends 'beginsWith'
    ? string
    : Value

/** These operators with their operands, and no other. */
type Operators<Given extends RangeOperator, Value> = { [O in Given]: RangeOperand<O, Value> } & {
  [O in Exclude<RangeOperator, Given>]?: never
}

type LowerBound = 'gt' | 'gte'
type UpperBound = 'lt' | 'lte'

/** One operator with its operand, or a lower and an upper bound; `between` includes both of its bounds. */
export type RangeCondition<Value = IndexValue, Allowed extends RangeOperator = RangeOperator> =
  | { [O in Allowed]: Operators<O, Value> }[Allowed]
  | { [L in LowerBound]: { [U in UpperBound]: Operators<L | U, Value> }[UpperBound] }[LowerBound]

/** Selects what a query returns of each record: all of it, all but `data`, or only their number. */
export type Select = 'data' | 'keys' | 'count'

/** Fields that every form of query may have. */
export interface PageRequest {
  /** Default `data`. */
  select?: Select
  /** 1 to 1,000; 100 when absent. With `select: "count"` 1 to 10,000; 10,000 when absent. */
  limit?: number
  ascending?: boolean
  cursor?: string | null
}

/** The records of one hash key, by range key. */
export interface PrimaryQuery<Operand = string> extends PageRequest {
  index?: undefined
  hash: string
  range?: RangeCondition<Operand>
}

/** All records by `updatedAt`, newest first unless `ascending: true`. */
export interface RecencyQuery<Operand = number | string> extends PageRequest {
  index: 't'
  hash?: undefined
  range?: RangeCondition<Operand, Exclude<RangeOperator, 'beginsWith'>>
}

/** The records with one value of a declared index's hash field, by its range field. */
export interface IndexQuery extends PageRequest {
  index: Slot
  hash: IndexValue
  range?: RangeCondition
}

/** `POST /v1/:db/:table/query`. */
export type QueryRequest = PrimaryQuery | RecencyQuery | IndexQuery

/** An item of a query page. With `select: "keys"` it has no `data`. */
export interface QueryItem<Data = Record<string, unknown>> extends MinimalRecordResponse {
  data?: Data
}

/** A page may be short, even empty, and still have a cursor. Only `cursor: null` means that it is the last page. */
export interface QueryResponse<Data = Record<string, unknown>, Item = RecordResponse<Data>> {
  /** Empty with `select: "count"`. */
  items: Item[]
  /** The number of items; with `select: "count"` the number of records that matched. */
  count: number
  cursor: string | null
  /** Present in an empty first page if values of another type than the operand of `range` are stored. */
  hint?: string
}

/** `POST /v1/:db/:table/find`: 1 to 100 keys, none twice. */
export interface FindRequest {
  keys: RecordKey[]
}

/** Every key asked for is in exactly one of the three. */
export interface FindResponse<Data = Record<string, unknown>> {
  /** The records found, in the order asked. */
  items: RecordResponse<Data>[]
  /** The keys of records that do not exist. */
  missing: RecordKey[]
  /** The keys for which the response had no room. Ask for them again. */
  unread: RecordKey[]
}

// ── Batches ──────────────────────────────────────────────────────────────────────────────────────────────────

export interface PutOperation<Data = Record<string, unknown>> extends PutRecordRequest<Data> {
  op: 'put'
  /** The version that the record must have. Null: the record must not exist. */
  ifUpdatedAt?: number | null
}

export interface PatchOperation extends PatchRecordRequest {
  op: 'patch'
  ifUpdatedAt?: number | null
}

export interface DeleteOperation extends RecordKey {
  op: 'delete'
  ifUpdatedAt?: number | null
}

/** Writes nothing. It must hold when the batch is committed. */
export interface CheckOperation extends RecordKey {
  op: 'check'
  ifUpdatedAt: number | null
}

export type BatchOperation<Data = Record<string, unknown>> =
  | PutOperation<Data>
  | PatchOperation
  | DeleteOperation
  | CheckOperation

/** `POST /v1/:db/:table/batch`: 1 to 25 operations, all or none. */
export interface BatchRequest<Data = Record<string, unknown>> {
  operations: BatchOperation<Data>[]
}

/** `POST /v1/:db/_batch`: 1 to 100 operations on tables of the database, all or none. */
export interface DatabaseBatchRequest<Data = Record<string, unknown>> {
  operations: (BatchOperation<Data> & { table: string })[]
}

export interface BatchResponse {
  count: number
  /** The ids of runs, one for each `run` and `finish`, in order. Only if there are any. */
  runs?: string[]
}

/** What `load` did with the lines. */
export interface LoadResponse {
  /** Lines that were stored. */
  count: number
  /** Lines whose record existed and was left alone. */
  skipped: number
  /** Lines that were refused. */
  failed: number
  /** The first 100 of those. */
  errors: LoadLineError[]
}

export interface LoadLineError {
  /** The first line is 1. */
  line: number
  code: ErrorCode
  message: string
  field?: string
}

// ── API keys ─────────────────────────────────────────────────────────────────────────────────────────────────

export type KeyKind = 'secret' | 'public'

/** `POST /api/keys`. */
export interface CreateKeyRequest {
  kind: KeyKind
  name?: string
  /** If the calling key ends earlier, the new one ends with it. */
  expiresAt?: number
  /** Absent or null: all databases of the organization. */
  databases?: string[] | null
}

interface KeyDescription {
  id: string
  kind: KeyKind
  name: string | null
  /** `svc_live_****wxyz`. */
  masked: string
  databases: string[] | null
  createdAt: number
  expiresAt: number | null
}

export interface CreateKeyResponse extends KeyDescription {
  /** The key itself. It is shown only once. */
  key: string
}

/** The answer to a request with an idempotency key that had been applied before. */
export interface RepeatedKeyResponse extends KeyDescription {
  /** Says that the key itself was shown once. */
  hint: string
  key?: never
  /** The id of the old key, if the new one was made by rolling. */
  rolledFrom?: string
}

/** `POST /api/keys/:id/roll`. */
export interface RollKeyRequest {
  /** The end of the old key in epoch milliseconds: 24 hours from now if absent. If it is not in the future, the old key is revoked. */
  expiresAt?: number
}

export interface RollKeyResponse extends CreateKeyResponse {
  /** The id of the old key. */
  rolledFrom: string
}

/** A key as it is listed, and the response to `DELETE /api/keys/:id`. */
export interface KeyMetadata extends KeyDescription {
  status: 'active' | 'expired' | 'revoked'
  /** May lag by a minute. */
  lastUsedAt: number | null
  revokedAt: number | null
  /** The id of the key that was rolled into this one. */
  rolledFrom: string | null
  /** The id of the key that this one was rolled into. */
  rolledTo: string | null
  /** The key was made for a sign-in link of the console. Other keys do not have it. */
  link?: true
}

/** `GET /api/keys/self`: the calling key. */
export interface OwnKey extends KeyMetadata {
  /** The name of the organization that the key belongs to. */
  organization: string
}

/** `GET /api/keys`, newest first. */
export interface ListKeysResponse {
  keys: KeyMetadata[]
  cursor: string | null
}
