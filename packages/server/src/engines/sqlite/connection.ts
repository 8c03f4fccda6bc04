import { Database, type SQLQueryBindings, type Statement } from 'bun:sqlite'
import type { CheckpointFaultKind } from './checkpoint/checkpoint-policy.ts'

export interface CheckpointFault {
  cause: string
  kind: CheckpointFaultKind
}

const faultKindOf = (code: string): CheckpointFaultKind => {
  if (/^SQLITE_(FULL|BUSY)/.test(code)) return 'repeatable'
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code) ? 'damage' : 'disk'
}

/**
 * An SQLite connection whose statements are prepared once and finalized with it. Bun keeps a connection open as long as
 * one of its statements is; then the last connection to close would not checkpoint the WAL.
 */
export class Connection {
  readonly #db: Database
  readonly #statements = new Map<string, Statement<unknown, SQLQueryBindings[]>>()

  /** Every connection of ours has these settings. Checkpoints are never automatic: see checkpoint-policy.ts. */
  constructor(
    readonly path: string,
    cacheKib: number,
  ) {
    // Never created here: a store whose file is missing must not be replaced by an empty one.
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

  /** For statements that run once: settings, schema, transactions. */
  run(sql: string): void {
    this.#db.run(sql)
  }

  /** A passive checkpoint: copies the WAL pages that it can copy without waiting for readers or writers. */
  checkpoint(): CheckpointFault | undefined {
    try {
      this.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
      return undefined
    } catch (error) {
      const code = String((error as { code?: unknown }).code)
      return { cause: `checkpoint: ${code} ${(error as Error).message}`, kind: faultKindOf(code) }
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
