import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'
import type { CheckpointFaultKind } from './checkpoint/checkpoint-policy.ts'
import { keepWal, openDatabase } from './open-database.ts'

export interface CheckpointFault {
  cause: string
  kind: CheckpointFaultKind
}

const faultKindOf = (code: string): CheckpointFaultKind => {
  if (/^SQLITE_(FULL|BUSY)/.test(code)) return 'repeatable'
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code) ? 'damage' : 'disk'
}

/** How long a statement waits for a lock. */
const busyTimeout = 'PRAGMA busy_timeout = 5000'

/**
 * An SQLite connection whose statements are prepared once and finalized with it. Bun keeps a connection open as long as
 * one of its statements is; then the last connection to close would not checkpoint the WAL.
 */
export class Connection {
  readonly #db: Database
  readonly #statements = new Map<string, Statement<unknown, SQLQueryBindings[]>>()

  /**
   * Every connection of ours has these settings. Checkpoints are never automatic: see checkpoint-policy.ts.
   * `isNew`: the file is empty, and becomes a store.
   */
  constructor(
    readonly path: string,
    cacheKib: number,
    isNew = false,
  ) {
    // Never created here: a store whose file is missing must not be replaced by an empty one.
    this.#db = openDatabase(path)
    this.run(busyTimeout)
    // The first page says whether pages can be given back, and `journal_mode` writes it. Only for a new store: in any other
    // this would be a commit.
    if (isNew) this.run('PRAGMA auto_vacuum = INCREMENTAL')
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

  /** For statements that run once: settings, schema, transactions. */
  run(sql: string): void {
    this.#db.run(sql)
  }

  /** A passive checkpoint: copies the WAL pages that it can copy without waiting for readers or writers. */
  checkpoint(): CheckpointFault | undefined {
    return this.#checkpoint('PASSIVE')
  }

  /**
   * Makes the WAL an empty file. Waits for nobody: if another process writes, or reads from the WAL, the file stays as it is.
   * To be called when nothing is pending: then it copies and syncs nothing.
   */
  truncateWal(): CheckpointFault | undefined {
    this.run('PRAGMA busy_timeout = 0')
    try {
      return this.#checkpoint('TRUNCATE')
    } finally {
      this.run(busyTimeout)
    }
  }

  #checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): CheckpointFault | undefined {
    try {
      this.prepare(`PRAGMA wal_checkpoint(${mode})`).get()
      return undefined
    } catch (error) {
      const code = String((error as { code?: unknown }).code)
      return { cause: `checkpoint: ${code} ${(error as Error).message}`, kind: faultKindOf(code) }
    }
  }

  /** A whole number that SQLite knows about the store. */
  pragma(
    name: 'application_id' | 'auto_vacuum' | 'freelist_count' | 'page_count' | 'page_size' | 'user_version',
  ): number {
    return this.prepare<Record<string, number>, []>(`PRAGMA ${name}`).get()![name]!
  }

  /** The server closes its store: everything is archived, and is copied into the database file. */
  letWalGo(): void {
    keepWal(this.#db, false)
  }

  get inTransaction(): boolean {
    return this.#db.inTransaction
  }

  close(): void {
    for (const statement of this.#statements.values()) statement.finalize()
    this.#db.close(true)
  }
}
