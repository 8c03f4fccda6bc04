// The types of a table. `Data` is the type of the records' data, `I` the type of the declared indices.

import type { RunChange } from '../tasks/run-change.ts'
import type {
  IndexDeclaration,
  IndexValue,
  Indices,
  PageRequest,
  PrimaryQuery,
  RangeCondition,
  RecencyQuery,
  RecordKey,
  Slot,
} from '../transport/wire.ts'

type Scalar = string | number | boolean | bigint | symbol | null | undefined

/** Data as it is read. JSON has no dates, so a saved `Date` is read as an ISO string. */
export type ReadData<Data> = Data extends Date
  ? string
  : Data extends Scalar
    ? Data
    : Data extends object
      ? { [Field in keyof Data]: ReadData<Data[Field]> }
      : Data

/** Data as it may be saved: a `Date` is allowed wherever any string is. */
export type SaveData<Data> = Data extends string
  ? string extends Data
    ? string | Date
    : Data
  : Data extends Scalar | Date
    ? Data
    : Data extends object
      ? { [Field in keyof Data]: SaveData<Data[Field]> }
      : Data

/** A date-time as text. The server reads only strict ISO-8601 as a date. */
export type DateTimeText = `${number}-${number}-${number}T${string}`

/** The values that an index over fields of this type can be queried by. It stores dates as epoch milliseconds. */
type Operand<Value> = Value extends boolean
  ? Value
  : Value extends number
    ? number extends Value
      ? number | Date | DateTimeText
      : Value
    : Value extends Date
      ? Date | number | string
      : Value extends string
        ? string extends Value
          ? string | number | Date
          : Value
        : never

type AnyOperand = IndexValue | Date

/** A field that `Data` does not name, or declares as `unknown`, may hold any value. */
type FieldOperand<Data, Field> = Field extends keyof Data
  ? unknown extends Data[Field]
    ? AnyOperand
    : Operand<Data[Field]>
  : AnyOperand

type SlotQuery<Data, S, Declaration> = Declaration extends IndexDeclaration
  ? PageRequest & {
      index: S
      hash: FieldOperand<Data, Declaration['hashField']>
    } & (Declaration extends { readonly rangeField?: infer Field }
        ? unknown extends Field
          ? { range?: never }
          : { range?: RangeCondition<FieldOperand<Data, Field>> }
        : { range?: never })
  : never

/** One of the three forms: by primary key, by recency (`t`), or by one of the declared slots. */
export type TableQuery<Data, I extends Indices> =
  | PrimaryQuery<string | Date>
  | RecencyQuery<number | string | Date>
  | { [S in keyof I & Slot]: SlotQuery<Data, S, NonNullable<I[S]>> }[keyof I & Slot]

/** If the condition does not hold, nothing is written and the error is 412 `precondition_failed`. */
export interface Condition {
  /** The record must have this version (its `updatedAt`). `'*'`: the record must exist. */
  ifMatch?: number | '*'
  /** The record must not exist. */
  ifAbsent?: boolean
}

/** Operations of a batch do not accept `'*'`. */
export interface BatchCondition extends Condition {
  ifMatch?: number
}

export interface SaveRecord<Data> extends RecordKey {
  data: SaveData<Data>
  /**
   * The time at which the record expires: epoch seconds (not a duration) or a `Date`. A save without `ttl` removes an earlier
   * one.
   */
  ttl?: number | Date
}

/** A merge: null removes a field, objects are merged, everything else replaces. */
export type MergeData<Data> = Data extends Scalar | Date | readonly unknown[]
  ? SaveData<Data>
  : Data extends object
    ? { [Field in keyof Data]?: MergeData<Data[Field]> | null }
    : SaveData<Data>

/** Adds `by`, or the number alone. A sum below `min` or above `max` is refused with `precondition_failed`. */
export type Increment = number | { by: number; min?: number; max?: number }

/** What changes of a record. `increment` and `append` name their places by JSON Pointer: `/total`, `/lines/0/count`. */
export interface RecordPatch<Data> {
  merge?: MergeData<Data>
  increment?: Record<`/${string}`, Increment>
  append?: Record<`/${string}`, readonly unknown[]>
  /** Epoch seconds or a `Date`; null: it does not expire. Without it the present `ttl` stays. */
  ttl?: number | Date | null
}

export type SaveOperation<Data> = SaveRecord<Data> & BatchCondition

/** An operation on a record of a table that it names, or on a run of a task. */
export type DatabaseOperation<Data = Record<string, unknown>> =
  | (Exclude<TableOperation<Data>, RunChange> & { table: string })
  | RunChange

/** Records of the table, and runs of tasks of the same database. */
export type TableOperation<Data> =
  | (SaveOperation<Data> & { op: 'put' })
  | (RecordKey & RecordPatch<Data> & BatchCondition & { op: 'patch' })
  | (RecordKey & BatchCondition & { op: 'delete' })
  | (RecordKey & BatchCondition & { op: 'check' })
  | RunChange
