import type { Connection } from './connection.ts'

/**
 * The read transaction of the serving thread. Opening and closing one costs half a dozen system calls, as much as
 * finding a record. So one transaction serves all reads until our own writer's next commit is acknowledged. No other
 * process writes records while this one owns the store. Guests write keys and organizations; those are read after
 * `renew`. With workers there are other writers, and every read opens a new transaction.
 */
export class Snapshot {
  readonly #db: Connection
  readonly #begin
  readonly #end
  readonly #alone: boolean
  #open = false

  /** `alone`: no other process writes records. Otherwise every read has to see the commits of others. */
  constructor(db: Connection, alone: boolean) {
    this.#db = db
    this.#alone = alone
    this.#begin = db.prepare('BEGIN')
    this.#end = db.prepare('COMMIT')
  }

  /** Call it after a commit and before any of its requests is answered. */
  noteCommit(): void {
    this.close()
  }

  /** Call it before a read of records: the reads after it see every write that was acknowledged before it. */
  refresh(): void {
    if (!this.#open || !this.#alone) this.renew()
  }

  /** Call it before a read of the registry: the reads after it see every commit of any process before it. */
  renew(): void {
    this.close()
    this.#begin.run()
    this.#open = true
    // An open snapshot prevents a WAL reset. If this process is alone, the snapshot ends with the next commit. Commits of
    // other processes are not reported to us.
    if (!this.#alone) setImmediate(this.#closeLater)
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    try {
      this.#end.run()
    } catch {
      // COMMIT repeats the error of a read that found a damaged page. That read was answered; here the transaction only
      // has to end.
      if (this.#db.inTransaction) this.#db.run('ROLLBACK')
    }
  }

  readonly #closeLater = (): void => this.close()
}
