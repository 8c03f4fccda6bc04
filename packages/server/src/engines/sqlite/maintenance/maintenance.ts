import type { Maintenance } from '../../../store/maintenance.ts'
import type { OpenStore } from '../open-store.ts'
import { checkStore, type NoteTable } from './check.ts'

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

  check(noteTable?: NoteTable): AsyncIterable<string> {
    return checkStore(this.#store.db, noteTable)
  }
}
