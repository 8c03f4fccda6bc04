import { deletedAt, entryKind, entryTime, timeInLog } from '../../../core/changes/log-entry.ts'
import { holds } from '../../../core/records/condition.ts'
import { isExpired } from '../../../core/records/expiry.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import { PatchResults, patchRecord } from '../../../core/records/record-patch.ts'
import type { IndexEntries } from '../../../core/tables/indices.ts'
import type {
  OperationResult,
  PatchOperation,
  PutOperation,
  RecordOperation,
  WriteResult,
} from '../../../store/records.ts'
import type { Row } from '../connection/driver.ts'
import { inLockOrder } from '../records/lock-order.ts'
import type { NewEntry } from './table-logs.ts'

/** A record as the writes of a group have left it. */
export interface RecordState extends RecordKey {
  /** A patch of the group needs its data. */
  readonly isPatched: boolean
  /** There is a row in the database, also of an expired record. */
  isStored: boolean
  isChanged: boolean
  current: CurrentRecord | undefined
}

interface CurrentRecord {
  id: number
  updatedAtMs: number
  ttlSeconds: number | null
  /** Null if the row was read without it. */
  data: string | null
  /** Undefined of a row that was read. */
  entries: IndexEntries | undefined
}

const nameOf = ({ hashKey, rangeKey }: RecordKey): string => `${hashKey.length} ${hashKey}${rangeKey}`

/** The records that a group of writes names, and what the writes make of them, one after another. */
export class RecordGroup {
  /** In the order in which they are locked. */
  readonly states: RecordState[]
  /** What the log gets. */
  readonly entries: NewEntry[] = []
  /** The most ids that new records may need. */
  readonly idsMax: number
  readonly #byName: Map<string, RecordState>
  readonly #notePatch: (length: number) => void
  #ids: number[] = []
  #newestMs = 0

  /** `notePatch` is told how long the patched records are. */
  constructor(operations: RecordOperation[], notePatch: (length: number) => void) {
    this.#notePatch = notePatch
    this.idsMax = operations.filter(({ op }) => op === 'put' || op === 'patch').length
    const patched = new Set(operations.flatMap((operation) => (operation.op === 'patch' ? [nameOf(operation)] : [])))
    this.#byName = new Map(
      operations.map((operation) => {
        const { hashKey, rangeKey } = operation
        const isPatched = patched.has(nameOf(operation))
        return [
          nameOf(operation),
          { hashKey, rangeKey, isPatched, isStored: false, isChanged: false, current: undefined },
        ]
      }),
    )
    const states = [...this.#byName.values()]
    this.states = inLockOrder(states).map((position) => states[position]!)
  }

  /** Takes the ids for new records, and the rows of `states`: id, version, ttl and data. `newestMs`: see `timeInLog`. */
  take(ids: number[], rows: (Row | undefined)[], newestMs: number): void {
    this.#ids = ids
    this.#newestMs = newestMs
    for (const [i, row] of rows.entries()) {
      if (row === undefined) continue
      const [id, updatedAt, ttl, data] = row
      const ttlSeconds = ttl == null ? null : Number(ttl)
      const state = this.states[i]!
      state.isStored = true
      state.current = {
        id: Number(id),
        updatedAtMs: Number(updatedAt),
        ttlSeconds,
        data: data ?? null,
        entries: undefined,
      }
    }
  }

  /** Applies all operations of a write, or none. Throws what refuses a patch; nothing is applied then either. */
  apply(operations: RecordOperation[], nowMs: number): WriteResult {
    for (const [failedOperation, operation] of operations.entries()) {
      const current = this.#live(operation, nowMs)?.updatedAtMs
      if (!holds(operation.condition, current)) return { applied: false, failedOperation, current }
    }
    const patched = this.#patched(operations, nowMs)
    return { applied: true, results: operations.map((operation) => this.#applyOne(operation, patched, nowMs)) }
  }

  #applyOne(operation: RecordOperation, patched: Map<PatchOperation, PutOperation>, nowMs: number): OperationResult {
    if (operation.op === 'check') return { checked: true }
    if (operation.op === 'delete') return { deleted: this.#delete(operation, nowMs) }
    if (operation.op === 'put') return { updatedAtMs: this.#put(operation, nowMs) }
    const put = patched.get(operation)!
    const { data, ttlSeconds } = put
    const result = { updatedAtMs: this.#put(put, nowMs), ttlSeconds, length: data.length }
    return operation.wantsData ? { ...result, data } : result
  }

  #state(key: RecordKey): RecordState {
    return this.#byName.get(nameOf(key))!
  }

  #live(key: RecordKey, nowMs: number): CurrentRecord | undefined {
    const { current } = this.#state(key)
    return current === undefined || isExpired(current.ttlSeconds, nowMs) ? undefined : current
  }

  /** The puts that the patches of a write become. */
  #patched(operations: RecordOperation[], nowMs: number): Map<PatchOperation, PutOperation> {
    const results = new PatchResults()
    const patched = new Map<PatchOperation, PutOperation>()
    for (const operation of operations) {
      if (operation.op !== 'patch') continue
      const { hashKey, rangeKey } = operation
      const live = this.#live(operation, nowMs)
      this.#notePatch(live?.data?.length ?? 0)
      const put = patchRecord(operation, live && { data: live.data!, ttlSeconds: live.ttlSeconds })
      this.#notePatch(put.data.length)
      results.add(put.data)
      patched.set(operation, { op: 'put', hashKey, rangeKey, condition: undefined, ...put })
    }
    return patched
  }

  #put(operation: PutOperation, nowMs: number): number {
    const { hashKey, rangeKey, data, ttlSeconds, entries, updatedAtMs = timeInLog(nowMs, this.#newestMs) } = operation
    const key = { hashKey, rangeKey }
    const live = this.#live(key, nowMs)
    const version = live === undefined ? updatedAtMs : Math.max(updatedAtMs, live.updatedAtMs + 1)
    // An expired record is created again, with a new id.
    const id = live?.id ?? this.#ids.shift()!
    this.#change(key, { id, updatedAtMs: version, ttlSeconds, data, entries })
    this.#note({ ...key, atMs: nowMs, kind: entryKind.put, version })
    return version
  }

  /** An expired record is left to the sweep. */
  #delete({ hashKey, rangeKey }: RecordKey, nowMs: number): boolean {
    const key = { hashKey, rangeKey }
    const live = this.#live(key, nowMs)
    if (live === undefined) return false
    this.#change(key, undefined)
    this.#note({ ...key, atMs: nowMs, kind: entryKind.delete, version: deletedAt(live.updatedAtMs, nowMs) })
    return true
  }

  #note(entry: NewEntry): void {
    this.#newestMs = entryTime(entry.atMs, entry.version, this.#newestMs)
    this.entries.push(entry)
  }

  #change(key: RecordKey, current: CurrentRecord | undefined): void {
    const state = this.#state(key)
    state.current = current
    state.isChanged = true
  }
}
