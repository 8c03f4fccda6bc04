import type { Database } from 'bun:sqlite'

/** Where the log's index keeps the counter that every commit of any process raises (SQLite's WAL-index format, iChange). */
const changeCounterOffset = 8

/**
 * The serving thread's view of the store. Opening and closing a read transaction costs half a dozen system calls,
 * more than finding the record does, so one transaction serves as many reads as it truthfully can: all until
 * the next commit, by whichever process, and at the most until this turn of the event loop is over. Whether there
 * was a commit is told by SQLite's own change counter in the shared memory of the log, which is raised
 * before a commit is acknowledged to anyone.
 */
export class Snapshot {
  readonly #begin
  readonly #end
  readonly #counter: Uint32Array
  #seen = -1
  #open = false

  constructor(db: Database) {
    this.#begin = db.prepare('BEGIN')
    this.#end = db.prepare('COMMIT')
    // The file is there and stays: this connection has read in WAL mode and keeps it open.
    db.query('SELECT 1 FROM sqlite_schema LIMIT 1').get()
    const memory = Bun.mmap(`${db.filename}-shm`, { shared: true })
    this.#counter = new Uint32Array(memory.buffer, memory.byteOffset + changeCounterOffset, 1)
  }

  /** Moves with every commit. To be asked before `read`, never after. */
  get version(): number {
    return this.#counter[0]!
  }

  /** Call before each read: what was committed before this call is seen by the reads after it. */
  refresh(): void {
    const version = this.#counter[0]!
    if (this.#open) {
      if (version === this.#seen) return
      this.#end.run()
    } else {
      this.#open = true
      // Not held for longer: an open snapshot keeps the log from starting over.
      setImmediate(this.#close)
    }
    this.#seen = version
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
