import { constants, Database, type SQLQueryBindings, type Statement } from 'bun:sqlite'
import { dirname } from 'node:path'
import { hasToken } from './archive/token.ts'
import type { CheckpointFaultKind } from './checkpoint/checkpoint-policy.ts'

export interface CheckpointFault {
  cause: string
  kind: CheckpointFaultKind
}

/**
 * Opens an SQLite file that exists. Every connection of ours begins here. Somebody else may have made the file, so
 * functions in its schema (defaults, checks, expressions of indexes) may only compute.
 */
export const openDatabase = (path: string): Database => {
  const db = new Database(path, { readwrite: true })
  db.run('PRAGMA trusted_schema = OFF')
  if (path !== ':memory:' && hasToken(dirname(path))) keepWal(db, true)
  return db
}

/**
 * Sets whether the WAL stays in place when this connection is the last to close the store. While an archive continues from
 * it, a command that runs after the server was killed must not delete frames that are not archived yet.
 */
const keepWal = (db: Database, keeps: boolean): void => {
  db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, keeps ? 1 : 0)
}

const faultKindOf = (code: string): CheckpointFaultKind => {
  if (/^SQLITE_(FULL|BUSY)/.test(code)) return 'repeatable'
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code) ? 'damage' : 'disk'
}

/** A statement waits this long for a lock. */
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
    // The file is never created here: a store whose file is missing must not be replaced by an empty one.
    this.#db = openDatabase(path)
    this.run(busyTimeout)
    // The first page says whether pages can be given back, and `journal_mode` writes it. In an existing store this statement
    // would be a commit.
    if (isNew) this.run('PRAGMA auto_vacuum = INCREMENTAL')
    this.run('PRAGMA journal_mode = WAL')
    this.run('PRAGMA synchronous = FULL')
    this.run('PRAGMA wal_autocheckpoint = 0')
    this.run(`PRAGMA cache_size = -${cacheKib}`)
    this.run('PRAGMA temp_store = MEMORY')
  }

  /** Returns the same statement for the same text. The texts are few and ours. */
  prepare<Row, Parameters extends SQLQueryBindings[]>(sql: string): Statement<Row, Parameters> {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement as unknown as Statement<Row, Parameters>
  }

  /** The first row; undefined if there is none. */
  one<Row>(sql: string, ...values: SQLQueryBindings[]): Row | undefined {
    return this.prepare<Row, SQLQueryBindings[]>(sql).get(...values) ?? undefined
  }

  all<Row>(sql: string, ...values: SQLQueryBindings[]): Row[] {
    return this.prepare<Row, SQLQueryBindings[]>(sql).all(...values)
  }

  /** Returns the number of rows that the statement changed. */
  change(sql: string, ...values: SQLQueryBindings[]): number {
    return this.prepare<unknown, SQLQueryBindings[]>(sql).run(...values).changes
  }

  /** `from` is a table, with a condition if not all of its rows count. */
  count(from: string, ...values: SQLQueryBindings[]): number {
    return this.one<{ n: number }>(`SELECT count(*) AS n FROM ${from}`, ...values)!.n
  }

  /** Runs statements that are needed once: settings, schema, transactions. */
  run(sql: string): void {
    this.#db.run(sql)
  }

  /** A passive checkpoint: copies the WAL pages that it can copy without waiting for readers or writers. */
  checkpoint(): CheckpointFault | undefined {
    return this.#checkpoint('PASSIVE')
  }

  /**
   * Makes the WAL an empty file, without waiting: if another process writes, or reads from the WAL, the file stays as it is.
   * Call it when no page is pending: then it copies and syncs nothing.
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
    return this.one<Record<string, number>>(`PRAGMA ${name}`)![name]!
  }

  /**
   * Lets the close of the connection delete the WAL. A server calls it when all frames are archived and copied into the
   * database file.
   */
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
