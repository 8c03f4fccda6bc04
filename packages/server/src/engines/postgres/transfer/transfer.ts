import type { Dump, LoadRows, Transfer } from '../../../store/transfer.ts'
import type { Database } from '../connection/database.ts'
import type { Session } from '../connection/driver.ts'
import { openDump } from './dump.ts'
import { loadRows } from './load.ts'

export class PostgresTransfer implements Transfer {
  readonly #db: Database
  readonly #putsFromArrays: boolean
  readonly #openLongSession: () => Promise<Session>

  constructor(db: Database, putsFromArrays: boolean, openLongSession: () => Promise<Session>) {
    this.#db = db
    this.#putsFromArrays = putsFromArrays
    this.#openLongSession = openLongSession
  }

  async openDump(): Promise<Dump> {
    return openDump(await this.#openLongSession())
  }

  load(rows: LoadRows): Promise<void> {
    return loadRows(this.#db, rows, this.#putsFromArrays)
  }

  async lastRecordId(tableId: number): Promise<number> {
    // No index has the ids of a table in order: it takes as long as the table is large.
    const session = await this.#openLongSession()
    try {
      const [row] = await session.run(`select max(id) from cubby_records where table_id = ${Math.trunc(tableId)}`)
      return Number(row![0])
    } finally {
      await session.close()
    }
  }
}
