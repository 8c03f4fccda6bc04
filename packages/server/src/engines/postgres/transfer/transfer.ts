import { batchOperationsMax } from '../../../core/limits.ts'
import type { Dump, LoadRows, Transfer } from '../../../store/transfer.ts'
import type { Database } from '../connection/database.ts'
import type { Session } from '../connection/driver.ts'
import { openDump } from './dump.ts'
import { loadRows } from './load.ts'

interface TransferOptions {
  db: Database
  /** See `Dialect`. */
  putsFromArrays: boolean
  openLongSession(): Promise<Session>
  /** This is called when the store has other secrets, or other user epochs. */
  onRegistry(): void
}

export class PostgresTransfer implements Transfer {
  /** One statement loads a batch of the API's size. */
  readonly importBatchRecords = batchOperationsMax
  readonly #options: TransferOptions

  constructor(options: TransferOptions) {
    this.#options = options
  }

  async openDump(): Promise<Dump> {
    return openDump(await this.#options.openLongSession())
  }

  async load(rows: LoadRows): Promise<void> {
    const { db, putsFromArrays, onRegistry } = this.#options
    await loadRows(db, rows, putsFromArrays)
    if (rows.secrets !== undefined || rows.userEpochs !== undefined) onRegistry()
  }

  lastRecordId(tableId: number): Promise<number> {
    return this.#highest(`select max(id) from cubby_record_8 where table_id = ${Math.trunc(tableId)}`)
  }

  lastRunSeq(): Promise<number> {
    return this.#highest('select max(seq) from cubby_run_8')
  }

  /** No index has these ids in order, so this reads all rows, outside the pool and without a time limit. */
  async #highest(sql: string): Promise<number> {
    const session = await this.#options.openLongSession()
    try {
      const [row] = await session.run(sql)
      return Number(row![0])
    } finally {
      await session.close()
    }
  }
}
