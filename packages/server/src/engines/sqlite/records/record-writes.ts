import { deletedAt, type EntryKind, entryKind } from '../../../core/changes/log-entry.ts'
import { storedData, takeChecksum } from '../../../core/records/checksum.ts'
import { holds } from '../../../core/records/condition.ts'
import { isExpired } from '../../../core/records/expiry.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import { PatchResults, patchRecord } from '../../../core/records/record-patch.ts'
import { slots } from '../../../core/tables/indices.ts'
import type {
  OperationResult,
  PatchOperation,
  PutOperation,
  RecordOperation,
  WriteResult,
} from '../../../store/records.ts'
import type { Connection } from '../connection.ts'
import type { Fence } from '../registry/registry-writes.ts'
import type { FollowedWrites } from '../runs/followed-writes.ts'
import { removeDamaged } from './remove-damaged.ts'
import { damagedRecord } from './row-check.ts'

/** The index columns of a record's row, in the order of its IndexEntries. */
const indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`])

export const insertRecord = `INSERT INTO records (id, table_id, hash_key, range_key, updated_at, ttl, data, ${indexColumns.join(', ')})
  VALUES (?1, ?2, CAST(?3 AS BLOB), CAST(?4 AS BLOB), ?5, ?6, ?7,
    ${indexColumns.map((_, i) => `CAST(?${i + 8} AS BLOB)`).join(', ')})`

/** All index columns of a row `r` as one JSON array of text: the record's IndexEntries. */
export const entriesSql = `json_array(${indexColumns.map((column) => `CAST(r.${column} AS TEXT)`).join(', ')})`

/** Ids are taken from the store in blocks, so that giving one out costs no write of its own. */
const idBlock = 1_000_000

type Value = string | number | null

/** The row under a key, expired or not. */
interface Found {
  id: number
  updated_at: number
  ttl: number | null
  isDamaged: boolean
  /** Read for a patch. */
  data?: string
}

type Applied = Extract<WriteResult, { applied: true }>
type Refused = Extract<WriteResult, { applied: false }>

type WholeRow = Omit<Found, 'isDamaged' | 'data'> & { data: string | null }

/** Longer data is not read only to be replaced: see `#lookup`. */
const comparedBytesMax = 4_096

/**
 * The row was found through the index of keys. Here, where the row is read anyway, its own key is compared. The plus
 * signs prevent SQLite from using the index again.
 */
const byIdAndKey = 'id = ?1 AND +table_id = ?2 AND +hash_key = CAST(?3 AS BLOB) AND +range_key = CAST(?4 AS BLOB)'

/**
 * Applies the puts and deletes of requests inside the transaction that is open on `db`. Copied rows are written by
 * transfer/load.ts; sweeps delete in maintenance/sweep.ts.
 */
export class RecordWrites {
  readonly #db: Connection
  readonly #followed: FollowedWrites
  readonly #find
  readonly #findWhole
  readonly #byTime
  readonly #byTtl
  readonly #insert
  readonly #insertOrIgnore
  readonly #update
  readonly #remove
  /** The characters that patches have read and written since it was last set to 0, refused ones too. */
  patchedBytes = 0
  #nextId = 0
  #reservedTo = 0

  constructor(db: Connection, followed: FollowedWrites) {
    this.#db = db
    this.#followed = followed
    // Text crosses into SQL and becomes bytes there: cheaper than making a buffer of every key.
    const find = (data: string) =>
      db.prepare<WholeRow, [number, string, string]>(
        `SELECT id, updated_at, ttl, ${data} AS data FROM records
         WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`,
      )
    this.#find = find(`CASE WHEN octet_length(data) <= ${comparedBytesMax} THEN data END`)
    this.#findWhole = find('data')
    this.#byTime = db.prepare<unknown, [number, number, number]>(
      'SELECT 1 FROM records INDEXED BY records_by_time WHERE table_id = ?1 AND updated_at = ?2 AND id = ?3',
    )
    this.#byTtl = db.prepare<unknown, [number, number]>(
      'SELECT 1 FROM records INDEXED BY records_by_ttl WHERE ttl = ?1 AND id = ?2',
    )
    // Each of these writes one row by its id, and none has a RETURNING: SQLite would keep a copy of every page that such
    // a statement changes, to be able to undo it alone. One upsert with RETURNING took a third longer than looking and
    // writing, and for a new record two thirds.
    this.#insert = db.prepare<unknown, Value[]>(insertRecord)
    this.#insertOrIgnore = db.prepare<unknown, Value[]>(insertRecord.replace('INSERT', 'INSERT OR IGNORE'))
    this.#update = db.prepare<unknown, Value[]>(
      `UPDATE records SET updated_at = ?5, ttl = ?6, data = ?7,
         ${indexColumns.map((column, i) => `${column} = CAST(?${i + 8} AS BLOB)`).join(', ')}
       WHERE ${byIdAndKey}`,
    )
    this.#remove = db.prepare<unknown, [number, number, string, string]>(`DELETE FROM records WHERE ${byIdAndKey}`)
  }

  /**
   * All operations or none, unless it throws: then some may have been applied, and the transaction must be rolled back. Every
   * record is looked up before the first write, which is safe because there is no other writer and no two
   * operations name the same record.
   */
  write(tableId: number, operations: RecordOperation[], nowMs: number): WriteResult {
    const found = this.find(tableId, operations, nowMs)
    return Array.isArray(found) ? this.apply(tableId, operations, found, nowMs) : found
  }

  /** The rows of the records, for `apply`; or the first condition that does not hold. */
  find(tableId: number, operations: RecordOperation[], nowMs: number): (Found | null)[] | Refused {
    const found = operations.map((operation) => this.#lookup(tableId, operation))
    for (let i = 0; i < operations.length; i++) {
      const { condition } = operations[i]!
      if (condition === undefined) continue
      const current = liveOf(found[i]!, nowMs)?.updated_at
      if (!holds(condition, current)) return { applied: false, failedOperation: i, current }
    }
    return found
  }

  /** `patches`: those of the batch so far. */
  apply(
    tableId: number,
    operations: RecordOperation[],
    found: (Found | null)[],
    nowMs: number,
    patches = new PatchResults(),
  ): Applied {
    // A patch may be refused, which is safe only before the first write.
    const patched = this.#patched(operations, found, nowMs, patches)
    const results = operations.map((operation, i): OperationResult => {
      if (operation.op === 'delete') return { deleted: this.#delete(tableId, operation, found[i]!, nowMs) }
      if (operation.op === 'put') return { updatedAtMs: this.#put(tableId, operation, found[i]!, nowMs) }
      if (operation.op === 'check') return { checked: true }
      const put = patched!.get(operation)!
      const { data, ttlSeconds } = put
      const result = { updatedAtMs: this.#put(tableId, put, found[i]!, nowMs), ttlSeconds, length: data.length }
      return operation.wantsData ? { ...result, data } : result
    })
    return { applied: true, results }
  }

  /** All puts or none, as for `write`. Returns how many were written: with `onlyAbsent`, records that exist are left. */
  putAll(tableId: number, puts: PutOperation[], onlyAbsent: boolean, nowMs: number): number {
    let written = 0
    // Most records of a load are new, or most are there: each is taken to be as the one before.
    let isNew = true
    for (const put of puts) {
      if (isNew && this.#insertNew(tableId, put, nowMs)) {
        written++
        continue
      }
      const found = this.#lookup(tableId, put)
      isNew = found === null
      if (onlyAbsent && isThere(found, nowMs)) continue
      this.#put(tableId, put, found, nowMs)
      written++
    }
    return written
  }

  /** Writes nothing if there is a row under the key. It saves the look for one. */
  #insertNew(tableId: number, put: PutOperation, nowMs: number): boolean {
    const { hashKey, rangeKey, data, ttlSeconds, entries } = put
    const updatedAtMs = put.updatedAtMs ?? this.#followed.timeFor(tableId, nowMs)
    const record = { hashKey, rangeKey, data, ttlSeconds, updatedAtMs }
    const values = [updatedAtMs, ttlSeconds, storedData(tableId, record)]
    const { changes } = this.#insertOrIgnore.run(this.#takeId(), tableId, hashKey, rangeKey, ...values, ...entries)
    if (changes > 0) this.#note(tableId, put, entryKind.put, updatedAtMs, nowMs)
    return changes > 0
  }

  #lookup(tableId: number, { op, hashKey, rangeKey, condition }: RecordOperation): Found | null {
    const row = (op === 'patch' ? this.#findWhole : this.#find).get(tableId, hashKey, rangeKey)
    if (row === null) return null
    const { id, updated_at, ttl, data } = row
    if (op === 'patch') return this.#lookedUpWhole(tableId, { hashKey, rangeKey }, row)
    const isDamaged =
      data === null
        ? !this.#isIndexed(tableId, row)
        : takeChecksum(tableId, { hashKey, rangeKey, data, ttlSeconds: ttl, updatedAtMs: updated_at }) === 'damaged'
    // A write may replace or remove a damaged row, but no condition can be checked against it.
    if (isDamaged && condition !== undefined) throw damagedRecord({ hashKey, rangeKey })
    return { id, updated_at, ttl, isDamaged }
  }

  /** A patch is about the data that is there, so its checksum is compared whatever its length. */
  #lookedUpWhole(tableId: number, key: RecordKey, { id, updated_at, ttl, data }: WholeRow): Found {
    this.patchedBytes += data!.length
    const record = { ...key, data: data!, ttlSeconds: ttl, updatedAtMs: updated_at }
    if (takeChecksum(tableId, record) === 'damaged') throw damagedRecord(key)
    return { id, updated_at, ttl, isDamaged: false, data: record.data }
  }

  /** The puts that the patches of a write become; undefined if there are none. */
  #patched(
    operations: RecordOperation[],
    found: (Found | null)[],
    nowMs: number,
    results: PatchResults,
  ): Map<PatchOperation, PutOperation> | undefined {
    if (!operations.some(({ op }) => op === 'patch')) return undefined
    const patched = new Map<PatchOperation, PutOperation>()
    operations.forEach((operation, i) => {
      if (operation.op !== 'patch') return
      const { hashKey, rangeKey } = operation
      const live = liveOf(found[i]!, nowMs)
      const current = live === undefined ? undefined : { data: live.data!, ttlSeconds: live.ttl }
      const put = patchRecord(operation, current)
      patched.set(operation, { op: 'put', hashKey, rangeKey, condition: undefined, ...put })
      results.add(put.data)
      this.patchedBytes += put.data.length
    })
    return patched
  }

  /**
   * Tells whether the indexes confirm the version and ttl of a row. A write needs no more of it, and for long data this is much
   * cheaper than the checksum: a put over 400 kB took three times as long with it.
   */
  #isIndexed(tableId: number, { id, updated_at, ttl }: WholeRow): boolean {
    return this.#byTime.get(tableId, updated_at, id) !== null && (ttl === null || this.#byTtl.get(ttl, id) !== null)
  }

  #put(tableId: number, operation: PutOperation, found: Found | null, nowMs: number): number {
    const version = this.#putRow(tableId, operation, found, nowMs)
    this.#note(tableId, operation, entryKind.put, version, nowMs)
    return version
  }

  #putRow(tableId: number, operation: PutOperation, found: Found | null, nowMs: number): number {
    const { hashKey, rangeKey, data, ttlSeconds, entries } = operation
    const writtenMs = operation.updatedAtMs ?? this.#followed.timeFor(tableId, nowMs)
    const record = { hashKey, rangeKey, data, ttlSeconds, updatedAtMs: writtenMs }
    const live = liveOf(found, nowMs)
    if (live !== undefined) {
      record.updatedAtMs = Math.max(writtenMs, live.updated_at + 1)
      const values = [record.updatedAtMs, ttlSeconds, storedData(tableId, record)]
      const { changes } = this.#update.run(live.id, tableId, hashKey, rangeKey, ...values, ...entries)
      if (changes > 0) return record.updatedAtMs
    }
    // If the existing row has expired or is damaged, the record is created again, with a new id. The version that a damaged
    // row had is taken from the index: in the row, a changed bit could have made it a time far in the future.
    if (found !== null && (live !== undefined || !this.#removeRow(tableId, operation, found))) {
      const version = removeDamaged(this.#db, tableId, found.id)
      record.updatedAtMs = version === undefined ? writtenMs : Math.max(writtenMs, version + 1)
    }
    const values = [record.updatedAtMs, ttlSeconds, storedData(tableId, record)]
    this.#insert.run(this.#takeId(), tableId, hashKey, rangeKey, ...values, ...entries)
    return record.updatedAtMs
  }

  /** An expired record is left to the sweep. */
  #delete(tableId: number, key: RecordKey, found: Found | null, nowMs: number): boolean {
    if (found === null || !isThere(found, nowMs)) return false
    if (!this.#removeRow(tableId, key, found)) removeDamaged(this.#db, tableId, found.id)
    // The version of a damaged record may be anything.
    const version = found.isDamaged ? nowMs : deletedAt(found.updated_at, nowMs)
    this.#note(tableId, key, entryKind.delete, version, nowMs)
    return true
  }

  #note(tableId: number, { hashKey, rangeKey }: RecordKey, kind: EntryKind, version: number, nowMs: number): void {
    this.#followed.note(tableId, { kind, hashKey, rangeKey, version }, nowMs)
  }

  /** False if the row is damaged: nothing is removed then. */
  #removeRow(tableId: number, { hashKey, rangeKey }: RecordKey, { id, isDamaged }: Found): boolean {
    return !isDamaged && this.#remove.run(id, tableId, hashKey, rangeKey).changes > 0
  }

  #takeId(): number {
    if (this.#nextId === this.#reservedTo) {
      const sql = `UPDATE meta SET value = value + ?1 WHERE name = 'next_record_id' RETURNING value`
      this.#reservedTo = this.#db.one<{ value: number }>(sql, idBlock)!.value
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

const liveOf = (found: Found | null, nowMs: number): Found | undefined =>
  found === null || found.isDamaged || isExpired(found.ttl, nowMs) ? undefined : found

/** A damaged record is there: only what it holds is not known. */
const isThere = (found: Found | null, nowMs: number): boolean =>
  found?.isDamaged === true || liveOf(found, nowMs) !== undefined

export const recordCommands = {
  write: (
    { records }: { records: RecordWrites },
    { fence, operations, nowMs }: { fence: Fence; operations: RecordOperation[]; nowMs: number },
  ) => records.write(fence.tableId!, operations, nowMs),
  putAll: (
    { records }: { records: RecordWrites },
    { fence, puts, onlyAbsent, nowMs }: { fence: Fence; puts: PutOperation[]; onlyAbsent: boolean; nowMs: number },
  ) => records.putAll(fence.tableId!, puts, onlyAbsent, nowMs),
}
