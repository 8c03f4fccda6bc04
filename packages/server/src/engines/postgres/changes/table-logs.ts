import type { LogEntry } from '../../../core/changes/log-entry.ts'
import { batchOperationsMax } from '../../../core/limits.ts'
import type { Holder } from '../../../core/shares.ts'
import { bigintArray, bytesArray } from '../connection/arrays.ts'
import { toBytes } from '../connection/bytes.ts'
import type { Database, Transaction } from '../connection/database.ts'
import { type BoundStatement, bind, type StatementResult, type Value } from '../connection/driver.ts'
import type { Dialect } from '../dialect.ts'
import { LogFollowers } from './followers.ts'
import * as sql from './statements.ts'
import { TableTurns } from './table-turns.ts'

/** An entry before it has its number. */
export type NewEntry = Omit<LogEntry, 'seq'>

/** Statements are made once for each number of rows. */
const addEntryRows = Array.from({ length: batchOperationsMax + 1 }, (_, count) => sql.addEntryRows(count))

const rowValues = ({ seq, atMs, kind, hashKey, rangeKey, version }: LogEntry): Value[] => [
  ...[seq, atMs, kind, toBytes(hashKey), toBytes(rangeKey), version],
]

/** The statements that add entries to the log of a table. */
export const entryStatements = (tableId: number, entries: LogEntry[], fromArrays: boolean): BoundStatement[] => {
  const bound: BoundStatement[] = []
  if (!fromArrays) {
    for (let at = 0; at < entries.length; at += batchOperationsMax) {
      const rows = entries.slice(at, at + batchOperationsMax)
      bound.push(bind(addEntryRows[rows.length]!, tableId, ...rows.flatMap(rowValues)))
    }
  } else if (entries.length > 0) {
    const numbers = (['seq', 'atMs', 'kind'] as const).map((name) => bigintArray(entries.map((entry) => entry[name])))
    const keys = (['hashKey', 'rangeKey'] as const).map((name) => bytesArray(entries.map((entry) => entry[name])))
    const versions = bigintArray(entries.map(({ version }) => version))
    bound.push(bind(sql.addEntries, tableId, ...numbers, ...keys, versions))
  }
  return bound
}

/** The logs of some tables in one transaction, which sends `locks` first and `statements` last. */
export class OpenLogs {
  /** They lock the counters, in the order in which all processes lock them. */
  readonly locks: BoundStatement[]
  readonly #tableIds: number[]
  readonly #fromArrays: boolean
  readonly #seqs = new Map<number, number>()
  readonly #entries = new Map<number, LogEntry[]>()

  constructor(tableIds: readonly number[], fromArrays: boolean) {
    this.#tableIds = [...tableIds].sort((a, b) => a - b)
    this.#fromArrays = fromArrays
    this.locks = this.#tableIds.map((tableId) => bind(sql.lockFeed, tableId))
  }

  /** Takes the results of `locks`, and returns those behind them. */
  takeLocks(answers: StatementResult[]): StatementResult[] {
    for (const [i, tableId] of this.#tableIds.entries()) this.#seqs.set(tableId, Number(answers[i]!.rows[0]?.[0] ?? 0))
    return answers.slice(this.#tableIds.length)
  }

  append(tableId: number, added: NewEntry[]): void {
    let seq = this.#seqs.get(tableId)!
    const entries = this.#entries.get(tableId) ?? []
    for (const entry of added) entries.push({ ...entry, seq: ++seq })
    this.#seqs.set(tableId, seq)
    if (entries.length > 0) this.#entries.set(tableId, entries)
  }

  get statements(): BoundStatement[] {
    return [...this.#entries].flatMap(([tableId, entries]) => [
      ...entryStatements(tableId, entries, this.#fromArrays),
      bind(sql.moveFeed, tableId, this.#seqs.get(tableId)!),
    ])
  }

  /** The logs that grow, with the numbers of their newest entries. */
  get grown(): [tableId: number, seq: number][] {
    return [...this.#entries.keys()].map((tableId) => [tableId, this.#seqs.get(tableId)!])
  }
}

/** Everything that adds to the logs of tables goes through here. */
export class TableLogs {
  readonly followers: LogFollowers
  readonly turns: TableTurns
  readonly #db: Database
  readonly #fromArrays: boolean

  constructor(db: Database, { putsFromArrays }: Dialect, waitMsMax: number) {
    this.#db = db
    this.#fromArrays = putsFromArrays
    this.followers = new LogFollowers(db)
    this.turns = new TableTurns(waitMsMax)
  }

  open(tableIds: readonly number[]): OpenLogs {
    return new OpenLogs(tableIds, this.#fromArrays)
  }

  /** Runs a transaction in its turn of the tables. */
  run<T>(
    holder: Holder,
    tableIds: readonly number[],
    work: (transaction: Transaction, logs: OpenLogs) => Promise<T>,
  ): Promise<T> {
    return this.turns.run(holder, tableIds, () => this.runInTurn(holder, tableIds, work))
  }

  /** Runs a transaction whose caller has its turn. Without a commit there must be no entries. */
  async runInTurn<T>(
    holder: Holder,
    tableIds: readonly number[],
    work: (transaction: Transaction, logs: OpenLogs) => Promise<T>,
  ): Promise<T> {
    let logs = this.open(tableIds)
    const result = await this.#db.transaction(holder, (transaction) => {
      // It may run again.
      logs = this.open(tableIds)
      return work(transaction, logs)
    })
    for (const [tableId, seq] of logs.grown) this.followers.note(tableId, seq)
    return result
  }
}
