import type { Connection } from './connection.ts'

/**
 * The serving thread's view of the store. Opening and closing a read transaction costs half a dozen system calls,
 * as much as finding the record does, so one transaction serves as many reads as it truthfully can: until our own
 * writer's next commit is acknowledged, and at the most until this turn of the event loop is over. Nobody else
 * writes records while this process owns the store; what guests write is read through `renew`. With workers there
 * are others who write, and every read opens its own.
 */
export class Snapshot {
  readonly #begin
  readonly #end
  readonly #alone: boolean
  #commits = 0
  #seen = -1
  #open = false

  /** `alone`: nobody else writes records. Otherwise every read looks for the commits of others. */
  constructor(db: Connection, alone: boolean) {
    this.#alone = alone
    this.#begin = db.prepare('BEGIN')
    this.#end = db.prepare('COMMIT')
  }

  /** To be called before a commit is acknowledged to anyone. */
  noteCommit(): void {
    this.#commits++
  }

  /** Before a read of records: all that was acknowledged before this call is seen by the reads after it. */
  refresh(): void {
    if (!this.#alone || !this.#open || this.#commits !== this.#seen) this.renew()
  }

  /** Before a read of the registry: all that any process had committed before this call is seen. */
  renew(): void {
    if (this.#open) this.#end.run()
    else {
      this.#open = true
      // Not held for longer: an open snapshot keeps the log from starting over.
      setImmediate(this.#close)
    }
    this.#seen = this.#commits
    this.#begin.run()
  }

  readonly #close = (): void => {
    if (!this.#open) return
    this.#open = false
    this.#end.run()
  }

  close(): void {
    this.#close()
  }
}
