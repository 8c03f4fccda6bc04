import { type LogEnds, oldestKeptSeq } from '../../../core/changes/old-entries.ts'
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

  constructor(store: OpenStore) {
    this.#store = store
  }

  async step(nowMs: number, rowsMax: number): Promise<number> {
    for (let looked = 0; looked < tablesMax; looked++) {
      const table = this.#nextTable()
      if (table === undefined) {
        this.#lastTableId = 0
        return 0
      }
      // A failed removal is passed over until the next round.
      this.#lastTableId = table.id
      const { id: tableId, ends } = table
      if (ends === undefined) continue
      const beforeSeq = await oldestKeptSeq(ends, nowMs, (seq) => this.#entry(tableId, 'AND seq = ?2', seq)?.atMs)
      if (beforeSeq === undefined) continue
      const removed = await this.#store.channel.submit({ kind: 'removeOldChanges', tableId, beforeSeq, rowsMax })
      if (removed === rowsMax) this.#lastTableId--
      return removed + 1
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

  #entry(tableId: number, which: string, ...values: number[]): EntryTime | undefined {
    const sql = `SELECT seq, at AS atMs FROM changes WHERE table_id = ?1 ${which}`
    return this.#store.read(() => this.#store.db.one<EntryTime>(sql, tableId, ...values))
  }
}
