import { type LogEnds, type LogTimes, oldestKeptSeq } from '../../../core/changes/old-entries.ts'
import type { OpenStore } from '../open-store.ts'

/** Tables that one step looks at. */
const tablesMax = 1_000

interface EntryTime {
  seq: number
  atMs: number
}

/** Finds the entries to remove without an index by time, which every write would have to keep. */
export class ChangeSweep {
  readonly #store: OpenStore
  /** The last table that was looked at in this round. */
  #lastTableId = 0
  /** Something was removed in this round. */
  #hasRemoved = false
  /** The changes that were found in this round. */
  #found = 0
  /** The changes that the last complete round found. */
  kept: number | undefined

  constructor(store: OpenStore) {
    this.#store = store
  }

  async step(nowMs: number, rowsMax: number): Promise<number> {
    for (let looked = 0; looked < tablesMax; looked++) {
      const table = this.#nextTable()
      if (table === undefined) {
        const isMore = this.#hasRemoved
        this.kept = this.#found
        this.#lastTableId = 0
        this.#hasRemoved = false
        this.#found = 0
        return isMore ? 1 : 0
      }
      // One step for each log: one that grows as fast as it is swept keeps no other waiting.
      this.#lastTableId = table.id
      const { id: tableId, ends } = table
      if (ends === undefined) continue
      this.#found += ends.last.seq - ends.first.seq
      const beforeSeq = await oldestKeptSeq(ends, nowMs, rowsMax, this.#timesOf(tableId))
      if (beforeSeq === undefined) continue
      this.#hasRemoved = true
      return 1 + (await this.#store.channel.submit({ kind: 'removeOldChanges', tableId, beforeSeq, rowsMax }))
    }
    return 1
  }

  #nextTable(): { id: number; ends: LogEnds | undefined } | undefined {
    const table = this.#store.read(() =>
      this.#store.db.one<{ id: number; keepHours: number | null }>(
        'SELECT id, keep_hours AS keepHours FROM tables WHERE changes_since IS NOT NULL AND id > ?1 ORDER BY id LIMIT 1',
        this.#lastTableId,
      ),
    )
    if (table === undefined) return undefined
    const { id, keepHours } = table
    const [first, last] = ['', 'DESC'].map((order) => this.#entry(id, `ORDER BY seq ${order} LIMIT 1`))
    return { id, ends: first && last && { first, last, keepHours } }
  }

  #timesOf(tableId: number): LogTimes {
    const between = 'AND seq >= ?2 AND seq < ?3 AND at > ?4 AND at <= ?5 ORDER BY seq LIMIT 1'
    return {
      timeOf: (seq) => this.#entry(tableId, 'AND seq = ?2', seq)?.atMs,
      firstBetween: (...bounds) => this.#entry(tableId, between, ...bounds)?.seq,
    }
  }

  #entry(tableId: number, which: string, ...values: number[]): EntryTime | undefined {
    const sql = `SELECT seq, at AS atMs FROM changes WHERE table_id = ?1 ${which}`
    return this.#store.read(() => this.#store.db.one<EntryTime>(sql, tableId, ...values))
  }
}
