import type { CheckNotes, Maintenance } from '../../../store/maintenance.ts'
import type { OpenStore } from '../open-store.ts'
import { checkStore } from './check.ts'

export class SqliteMaintenance implements Maintenance {
  readonly #store: OpenStore

  constructor(store: OpenStore) {
    this.#store = store
  }

  sweepExpired(nowMs: number, rowsMax: number): Promise<number> {
    return this.#store.channel.submitUpkeep<'sweepExpired'>({ kind: 'sweepExpired', nowMs, rowsMax })
  }

  purgeTables(nowMs: number, rowsMax: number): Promise<number> {
    return this.#store.channel.submitUpkeep<'purgeTables'>({ kind: 'purgeTables', nowMs, rowsMax })
  }

  addChecksums(rowsMax: number): Promise<number> {
    return this.#store.channel.submitUpkeep<'addChecksums'>({ kind: 'addChecksums', rowsMax })
  }

  check(notes: CheckNotes = {}): AsyncIterable<string> {
    return checkStore(this.#store.db, notes)
  }
}
