import type { Condition, OperationResult, PutOperation, RecordOperation, WriteResult } from '../../core/engine.ts'
import { nowSeconds } from '../../core/expiry.ts'
import { slots } from '../../core/indices.ts'
import type { RecordKey } from '../../core/record-key.ts'
import type { Connection } from './connection.ts'

/** Ids are taken from the store in blocks, so that giving one out costs no write of its own. */
const idBlock = 1_000_000

const indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`])
const theRecord = 'table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)'
const live = '(ttl IS NULL OR ttl > ?4)'

/** Writes records inside the transaction that is open on `db`; the one place that does. */
export class RecordWriter {
  readonly #db: Connection
  readonly #upsert
  readonly #removeLive
  readonly #removeExpired
  readonly #version
  #nextId = 0
  #reservedTo = 0

  constructor(db: Connection) {
    this.#db = db
    // Text crosses into SQL and becomes bytes there: cheaper than making a buffer of every key.
    this.#upsert = db.prepare<{ updated_at: number }, (string | number | null)[]>(`
      INSERT INTO records (id, table_id, hash_key, range_key, updated_at, ttl, data, ${indexColumns.join(', ')})
      VALUES (?1, ?2, CAST(?3 AS BLOB), CAST(?4 AS BLOB), ?5, ?6, ?7,
        ${indexColumns.map((_, i) => `CAST(?${i + 8} AS BLOB)`).join(', ')})
      ON CONFLICT (table_id, hash_key, range_key) DO UPDATE SET
        updated_at = max(excluded.updated_at, records.updated_at + 1), ttl = excluded.ttl, data = excluded.data,
        ${indexColumns.map((column) => `${column} = excluded.${column}`).join(', ')}
      WHERE records.ttl IS NULL OR records.ttl > ?18
      RETURNING updated_at`)
    this.#removeLive = db.prepare<unknown, (string | number)[]>(`DELETE FROM records WHERE ${theRecord} AND ${live}`)
    this.#removeExpired = db.prepare<unknown, (string | number)[]>(
      `DELETE FROM records WHERE ${theRecord} AND ttl <= ?4`,
    )
    this.#version = db.prepare<{ updated_at: number }, (string | number)[]>(
      `SELECT updated_at FROM records WHERE ${theRecord} AND ${live}`,
    )
  }

  /**
   * All operations or none: conditions are looked at before the first write, which is safe because nobody else
   * writes meanwhile and no two operations name the same record.
   */
  write(tableId: number, operations: RecordOperation[], nowMs: number): WriteResult {
    const now = nowSeconds(nowMs)
    for (let i = 0; i < operations.length; i++) {
      const operation = operations[i]!
      if (operation.condition === undefined) continue
      const current = this.#version.get(tableId, operation.hashKey, operation.rangeKey, now)?.updated_at
      if (!holds(operation.condition, current)) return { applied: false, failedOperation: i, current }
    }
    if (operations.length === 1) return { applied: true, results: [this.#apply(tableId, operations[0]!, nowMs, now)] }
    // A savepoint: should one statement fail, the neighbours in this commit stay.
    this.#db.run('SAVEPOINT batch')
    try {
      const results = operations.map((operation) => this.#apply(tableId, operation, nowMs, now))
      this.#db.run('RELEASE batch')
      return { applied: true, results }
    } catch (error) {
      if (this.#db.inTransaction) this.#db.run('ROLLBACK TO batch; RELEASE batch')
      // The block of ids may have been taken inside the savepoint, and ids are never given twice.
      this.forgetReservedIds()
      throw error
    }
  }

  #apply(tableId: number, operation: RecordOperation, nowMs: number, now: number): OperationResult {
    if (operation.op === 'delete') return { deleted: this.#remove(tableId, operation, now) }
    const updatedAtMs = this.#put(tableId, operation, nowMs, now)
    if (updatedAtMs !== undefined) return { updatedAtMs }
    // The row in the way has expired: the record is created anew, with an id of its own.
    this.#removeExpired.run(tableId, operation.hashKey, operation.rangeKey, now)
    return { updatedAtMs: this.#put(tableId, operation, nowMs, now)! }
  }

  #put(tableId: number, operation: PutOperation, nowMs: number, now: number): number | undefined {
    const { hashKey, rangeKey, data, ttlSeconds, entries: e } = operation
    const row = this.#upsert.get(
      ...[this.#takeId(), tableId, hashKey, rangeKey, operation.updatedAtMs ?? nowMs, ttlSeconds, data],
      ...[e[0]!, e[1]!, e[2]!, e[3]!, e[4]!, e[5]!, e[6]!, e[7]!, e[8]!, e[9]!, now],
    )
    return row?.updated_at
  }

  #remove(tableId: number, key: RecordKey, now: number): boolean {
    return this.#removeLive.run(tableId, key.hashKey, key.rangeKey, now).changes > 0
  }

  #takeId(): number {
    if (this.#nextId === this.#reservedTo) {
      const row = this.#db
        .prepare<{ value: number }, [number]>(
          `UPDATE meta SET value = value + ?1 WHERE name = 'next_record_id' RETURNING value`,
        )
        .get(idBlock)
      this.#reservedTo = row!.value
      this.#nextId = this.#reservedTo - idBlock
    }
    return this.#nextId++
  }

  /** The next id comes from the store again. */
  forgetReservedIds(): void {
    this.#nextId = 0
    this.#reservedTo = 0
  }
}

const holds = (condition: Condition, current: number | undefined): boolean => {
  if (condition === 'absent') return current === undefined
  if (condition === 'exists') return current !== undefined
  return current === condition.version
}
