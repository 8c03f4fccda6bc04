import { Database, type SQLQueryBindings, type Statement } from 'bun:sqlite'

export interface CheckpointFault {
  cause: string
  /** The disk was full or the file busy: SQLite has recorded nothing as copied, and the next try starts there again. */
  isRepeatable: boolean
  /** SQLite saw before it copied anything that the database file is too short, or no longer one: the WAL stays. */
  isDamage: boolean
}

/**
 * An SQLite connection whose statements are prepared once and end with it. Bun keeps a connection alive as long as
 * one of its statements is; then the last to close would not copy the log into the database file.
 */
export class Connection {
  readonly #db: Database
  readonly #statements = new Map<string, Statement<unknown, SQLQueryBindings[]>>()

  /** The settings that every one of ours has. Checkpoints are never automatic: see checkpoint-policy.ts. */
  constructor(
    readonly path: string,
    cacheKib: number,
  ) {
    // Never made here: a store that has vanished must not be replaced by an empty one.
    this.#db = new Database(path, { readwrite: true })
    this.run('PRAGMA busy_timeout = 5000')
    this.run('PRAGMA journal_mode = WAL')
    this.run('PRAGMA synchronous = FULL')
    this.run('PRAGMA wal_autocheckpoint = 0')
    this.run(`PRAGMA cache_size = -${cacheKib}`)
    this.run('PRAGMA temp_store = MEMORY')
  }

  /** The same statement for the same text: the texts are few and ours. */
  prepare<Row, Parameters extends SQLQueryBindings[]>(sql: string): Statement<Row, Parameters> {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement as unknown as Statement<Row, Parameters>
  }

  /** For what is done once: settings, schema, transactions. */
  run(sql: string): void {
    this.#db.run(sql)
  }

  /** Copies from the WAL into the database file what can be copied without waiting for anybody. */
  checkpoint(): CheckpointFault | undefined {
    try {
      this.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
      return undefined
    } catch (error) {
      const code = String((error as { code?: unknown }).code)
      const cause = `checkpoint: ${code} ${(error as Error).message}`
      return { cause, isRepeatable: /^SQLITE_(FULL|BUSY)/.test(code), isDamage: /^SQLITE_(CORRUPT|NOTADB)/.test(code) }
    }
  }

  get inTransaction(): boolean {
    return this.#db.inTransaction
  }

  close(): void {
    for (const statement of this.#statements.values()) statement.finalize()
    this.#db.close(true)
  }
}
