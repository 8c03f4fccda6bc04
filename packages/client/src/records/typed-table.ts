// What a table's types follow from: `Data`, the shape of its records' data, and `I`, its declared indices.

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

/** Data as it is read: JSON has no dates, so what was saved as a `Date` is an ISO string. */
export type ReadData<Data> = Data extends Date
  ? string
  : Data extends Scalar
    ? Data
    : Data extends object
      ? { [Field in keyof Data]: ReadData<Data[Field]> }
      : Data

/** Data as it may be saved: a `Date` wherever any string may stand. */
export type SaveData<Data> = Data extends string
  ? string extends Data
    ? string | Date
    : Data
  : Data extends Scalar | Date
    ? Data
    : Data extends object
      ? { [Field in keyof Data]: SaveData<Data[Field]> }
      : Data

/** A date-time as text; the server takes only a strict ISO-8601 one for a date. */
export type DateTimeText = `${number}-${number}-${number}T${string}`

/** What an index over fields of this type can be asked for. Dates in it are numbers: epoch milliseconds. */
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

/** A field that the data's type does not name may hold anything; so may one that is declared as `unknown`. */
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

/** What must hold of the present record, or nothing is written: 412 `precondition_failed`. */
export interface Condition {
  /** The version that is there, by its `updatedAt`; `'*'`: any. */
  ifMatch?: number | '*'
  /** There is none. */
  ifAbsent?: boolean
}

/** Operations of a batch know no `'*'`. */
export interface BatchCondition extends Condition {
  ifMatch?: number
}

export interface SaveRecord<Data> extends RecordKey {
  data: SaveData<Data>
  /** When it expires: epoch seconds, not a duration, or a date. Without it an earlier one is removed. */
  ttl?: number | Date
}

export type SaveOperation<Data> = SaveRecord<Data> & BatchCondition

export type TableOperation<Data> =
  | (SaveOperation<Data> & { op: 'put' })
  | (RecordKey & BatchCondition & { op: 'delete' })
