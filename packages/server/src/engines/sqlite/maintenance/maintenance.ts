import { CubbyError } from '../../../core/errors.ts'
import type { CheckNotes, Maintenance } from '../../../store/maintenance.ts'
import type { OpenStore } from '../open-store.ts'
import { findDamagedRows } from './add-checksums.ts'
import { checkStore } from './check.ts'

export class SqliteMaintenance implements Maintenance {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  sweepExpired(nowMs: number, rowsMax: number): Promise<number> {
    return this.#store.channel.submit({ kind: 'sweepExpired', nowMs, rowsMax })
  }

  purgeTables(nowMs: number, rowsMax: number): Promise<number> {
    return this.#store.channel.submit({ kind: 'purgeTables', nowMs, rowsMax })
  }

  purgeOrganizations(nowMs: number, rowsMax: number): Promise<number> {
    return this.#store.channel.submit({ kind: 'purgeOrganizations', nowMs, rowsMax })
  }

  async addChecksums(rowsMax: number): Promise<number> {
    const { channel, db, snapshot } = this.#store
    try {
      return await channel.submit({ kind: 'addChecksums', rowsMax })
    } catch (error) {
      if (!(error instanceof CubbyError) || error.code !== 'store_damaged') throw error
      snapshot.renew()
      const skipped = findDamagedRows(db, rowsMax)
      if (skipped === undefined) throw error
      return channel.submit({ kind: 'addChecksums', rowsMax, skipped })
    }
  }

  check(notes: CheckNotes = {}): AsyncIterable<string> {
    return checkStore(this.#store.db, notes)
  }
}
