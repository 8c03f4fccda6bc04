import { batchOperationsMax } from '../../../core/limits.ts'
import { holds } from '../../../core/records/condition.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import { PatchResults, patchRecord } from '../../../core/records/record-patch.ts'
import { sliceUnits } from '../../../core/slices.ts'
import type { DeleteOperation, OperationResult, PutOperation, RecordOperation } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import type { Read } from '../connection/database.ts'
import type { BoundStatement, Row } from '../connection/driver.ts'
import { inLockOrder, keyValues } from './lock-order.ts'
import type { PatchTurns } from './patch-turns.ts'
import { lockInBatch, readLocked } from './statements.ts'

// A patch reads a record under the lock of its row, so a write that has one is a transaction of two round trips: locks and
// reads, then the writes and the commit.

/** Tells whether a write must read its records before it writes. */
export const mustDecide = (operations: readonly RecordOperation[]): boolean =>
  operations.length > batchOperationsMax || operations.some(({ op }) => op === 'patch' || op === 'check')

/** The operations of a write on the records of one table. */
export interface WritePart {
  table: Table
  records: RecordOperation[]
}

/** A part with a put for each patch, and without checks and conditions: those hold as long as the locks are held. */
export interface DecidedPart {
  table: Table
  operations: (PutOperation | DeleteOperation)[]
  /** Locks of records that are not there, for checks: they are removed again. */
  checkedAbsent: RecordKey[]
  /** Takes the results of `operations`, and returns those of the part. */
  readResults(written: OperationResult[]): OperationResult[]
}

interface Refusal {
  failedPart: number
  failedOperation: number
  current: number | undefined
}

/** What a locked record holds: version, ttl and data. Undefined if it does not exist. */
type LockedRow = Row | undefined

/**
 * Locks all records of a write in the common order, and applies its patches to what they hold, with a pause after large ones.
 * Throws what refuses a patch. `before` ends with the guards: a refusal tells of the record, so a revoked key must not get one.
 */
export const decideWrite = async (
  send: Read,
  before: BoundStatement[],
  parts: WritePart[],
  nowMs: number,
  turns: PatchTurns,
): Promise<DecidedPart[] | Refusal> => {
  const locked = await lockRecords(send, before, parts, nowMs)
  for (const [failedPart, { records }] of parts.entries()) {
    for (const [failedOperation, { condition }] of records.entries()) {
      const row = locked[failedPart]![failedOperation]
      const current = row === undefined ? undefined : Number(row[0])
      if (!holds(condition, current)) return { failedPart, failedOperation, current }
    }
  }
  const results = new PatchResults()
  const decided: DecidedPart[] = []
  for (const [i, part] of parts.entries()) decided.push(await decidePart(part, locked[i]!, results, turns))
  return decided
}

/** Returns the row of each operation of each part. */
const lockRecords = async (
  send: Read,
  before: BoundStatement[],
  parts: WritePart[],
  nowMs: number,
): Promise<LockedRow[][]> => {
  const bound: BoundStatement[] = []
  const places: [part: number, operation: number][] = []
  const byTable = [...parts.keys()].sort((a, b) => parts[a]!.table.id - parts[b]!.table.id)
  for (const i of byTable) {
    const { table, records } = parts[i]!
    for (const position of inLockOrder(records)) {
      const key = keyValues(table, records[position]!)
      bound.push({ statement: lockInBatch, values: key })
      const isPatch = records[position]!.op === 'patch' ? 't' : 'f'
      bound.push({ statement: readLocked, values: [...key, nowSeconds(nowMs), isPatch] })
      places.push([i, position])
    }
  }
  const answers = (await send(...before, ...bound)).slice(before.length)
  const rows: LockedRow[][] = parts.map(({ records }) => new Array(records.length))
  for (const [at, [part, position]] of places.entries()) rows[part]![position] = answers[2 * at + 1]!.rows[0]
  return rows
}

const decidePart = async (
  { table, records }: WritePart,
  rows: LockedRow[],
  results: PatchResults,
  turns: PatchTurns,
): Promise<DecidedPart> => {
  const operations: DecidedPart['operations'] = []
  /** The position in `operations` of each that is written. */
  const writtenAt: number[] = []
  const checkedAbsent: RecordKey[] = []
  let doneUnits = 0
  for (const [i, operation] of records.entries()) {
    if (operation.op === 'check') {
      if (rows[i] === undefined) checkedAbsent.push(operation)
      continue
    }
    writtenAt[i] = operations.length
    if (operation.op !== 'patch') {
      operations.push({ ...operation, condition: undefined })
      continue
    }
    if (doneUnits >= sliceUnits) {
      await new Promise((resolve) => setImmediate(resolve))
      doneUnits = 0
    }
    const { hashKey, rangeKey } = operation
    const current = currentOf(rows[i])
    turns.note(table, current?.data.length ?? 0)
    const put = patchRecord(operation, current)
    turns.note(table, put.data.length)
    results.add(put.data)
    operations.push({ op: 'put', hashKey, rangeKey, condition: undefined, ...put })
    doneUnits += put.data.length
  }
  const readResults = (written: OperationResult[]): OperationResult[] =>
    records.map((operation, i) => {
      if (operation.op === 'check') return { checked: true }
      const result = written[writtenAt[i]!]!
      if (operation.op !== 'patch') return result
      const { updatedAtMs } = result as { updatedAtMs: number }
      const { data, ttlSeconds } = operations[writtenAt[i]!] as PutOperation
      const shown = { updatedAtMs, ttlSeconds, length: data.length }
      return operation.wantsData ? { ...shown, data } : shown
    })
  return { table, operations, checkedAbsent, readResults }
}

const currentOf = (row: LockedRow): { data: string; ttlSeconds: number | null } | undefined =>
  row && { data: row[2]!, ttlSeconds: row[1] == null ? null : Number(row[1]) }
