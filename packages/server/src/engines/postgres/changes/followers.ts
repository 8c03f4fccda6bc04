import { bigintArray } from '../connection/arrays.ts'
import { type Database, noOrg } from '../connection/database.ts'
import { bind, type Row } from '../connection/driver.ts'
import { newestNumber, newestNumbers } from './statements.ts'

/** A commit of another process is noticed this much later at most, and the time of a read. */
const pollMs = 100

interface Followed {
  followers: Set<(seq: number) => void>
  /** The newest number that they were told. */
  seq: number
}

/**
 * Tells those who follow a table of the commits that add to its log: at once of those of this process, and of others by polls
 * that read the counters of all tables that somebody follows. A NOTIFY would lock out all other commits of the database that
 * have one.
 */
export class LogFollowers {
  readonly #db: Database
  readonly #tables = new Map<number, Followed>()
  #isPolling = false
  #closed = false

  constructor(db: Database) {
    this.#db = db
  }

  follow(tableId: number, noted: (seq: number) => void): () => void {
    const followed = this.#tables.get(tableId) ?? { followers: new Set(), seq: 0 }
    followed.followers.add(noted)
    this.#tables.set(tableId, followed)
    if (!this.#isPolling) void this.#poll()
    return () => {
      followed.followers.delete(noted)
      if (followed.followers.size === 0 && this.#tables.get(tableId) === followed) this.#tables.delete(tableId)
    }
  }

  note(tableId: number, seq: number): void {
    const followed = this.#tables.get(tableId)
    // A poll may answer later than a commit of this process.
    if (followed === undefined || seq <= followed.seq) return
    followed.seq = seq
    for (const noted of [...followed.followers]) noted(seq)
  }

  close(): void {
    this.#closed = true
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    while (this.#tables.size > 0 && !this.#closed) {
      // A failed poll is repeated by the next one.
      const rows = await this.#read([...this.#tables.keys()]).catch((): Row[] => [])
      for (const [tableId, seq] of rows) this.note(Number(tableId), Number(seq))
      await new Promise((resolve) => setTimeout(resolve, pollMs).unref())
    }
    this.#isPolling = false
  }

  async #read(tableIds: number[]): Promise<Row[]> {
    try {
      const [result] = await this.#db.read(noOrg, bind(newestNumbers, bigintArray(tableIds)))
      return result!.rows
    } catch (error) {
      this.#db.requirePart(error)
      const results = await this.#db.readEach(
        noOrg,
        tableIds.map((tableId) => bind(newestNumber, tableId)),
      )
      return results.flatMap((result) => result?.rows ?? [])
    }
  }
}
