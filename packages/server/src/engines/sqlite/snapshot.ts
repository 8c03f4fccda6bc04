import type { Connection } from './connection.ts'

/**
 * The serving thread's view of the store. Opening and closing a read transaction costs half a dozen system calls,
 * as much as finding the record does, so one transaction serves as many reads as it truthfully can: until our own
 * writer's next commit is acknowledged. Nobody else writes records while this process owns the store; what guests
 * write is read through `renew`. With workers there are others who write, and every read opens its own.
 */
export class Snapshot {
  readonly #db: Connection
  readonly #begin
  readonly #end
  readonly #alone: boolean
  #open = false

  /** `alone`: nobody else writes records. Otherwise every read looks for the commits of others. */
  constructor(db: Connection, alone: boolean) {
    this.#db = db
    this.#alone = alone
    this.#begin = db.prepare('BEGIN')
    this.#end = db.prepare('COMMIT')
  }

  /** To be called after a commit and before it is acknowledged to anyone. */
  noteCommit(): void {
    this.close()
  }

  /** Before a read of records: all that was acknowledged before this call is seen by the reads after it. */
  refresh(): void {
    if (!this.#open || !this.#alone) this.renew()
  }

  /** Before a read of the registry: all that any process had committed before this call is seen. */
  renew(): void {
    this.close()
    this.#begin.run()
    this.#open = true
    // An open snapshot keeps the log from starting over. Alone it ends with the next commit, so it is never in
    // the way for long; of the commits of others nobody tells us.
    if (!this.#alone) setImmediate(this.#closeLater)
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    try {
      this.#end.run()
    } catch {
      // COMMIT repeats the error of a read that met a damaged page. The read was answered; what matters here is that the
      // transaction ends.
      if (this.#db.inTransaction) this.#db.run('ROLLBACK')
    }
  }

  readonly #closeLater = (): void => this.close()
}
