import { entryKind, entryTime, type LogEntry } from '../../../core/changes/log-entry.ts'
import { CubbyError } from '../../../core/errors.ts'
import { batchOperationsMax } from '../../../core/limits.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import type { Holder } from '../../../core/shares.ts'
import type { Follower } from '../../../core/tasks/following.ts'
import type { StoreObserver } from '../../../store/observer.ts'
import { bigintArray, bytesArray } from '../connection/arrays.ts'
import { toBytes } from '../connection/bytes.ts'
import type { Database, Transaction } from '../connection/database.ts'
import { type BoundStatement, bind, type StatementResult, type Value } from '../connection/driver.ts'
import { countAdded, FollowingRuns } from '../runs/following-runs.ts'
import type { Clock } from '../tasks/statements.ts'
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

interface LogOptions {
  fromArrays: boolean
  /** The time of a test; null: that of the database. */
  at: number | null
}

/** What the writes of a table bring along. */
interface CountedTable {
  keepsChanges: boolean
  db: string
  name: string
  followers: Follower[]
}

/** What the writes of some tables bring along in one transaction, which sends `locks` first and `statements` last. */
export class OpenLogs {
  /** They lock the counters, in the order in which all processes lock them. */
  readonly locks: BoundStatement[]
  readonly #tableIds: number[]
  readonly #options: LogOptions
  readonly #tables = new Map<number, CountedTable>()
  readonly #seqs = new Map<number, number>()
  /** The times of the newest entries. */
  readonly #newestMs = new Map<number, number>()
  readonly #entries = new Map<number, LogEntry[]>()
  readonly #runs = new FollowingRuns()

  constructor(tableIds: readonly number[], options: LogOptions) {
    this.#tableIds = [...tableIds].sort((a, b) => a - b)
    this.#options = options
    // What they bring along is read under the locks.
    this.locks = [sql.lockFeed, sql.readCounted, sql.newestTime].flatMap((statement) =>
      this.#tableIds.map((tableId) => bind(statement, tableId)),
    )
  }

  /** Takes the results of `locks`, and returns those behind them. */
  takeLocks(answers: StatementResult[]): StatementResult[] {
    const count = this.#tableIds.length
    for (const [i, tableId] of this.#tableIds.entries()) {
      const seq = answers[i]!.rows[0]?.[0]
      this.#seqs.set(tableId, Number(seq ?? 0))
      this.#newestMs.set(tableId, Number(answers[2 * count + i]!.rows[0]?.[0] ?? 0))
      const [keeps, db = '', name = '', followers = '[]'] = answers[count + i]!.rows[0] ?? []
      const counted = { keepsChanges: keeps === 't', db: db!, name: name!, followers: JSON.parse(followers!) }
      // Without its lock, writes would overtake one another.
      if (seq === undefined && (counted.keepsChanges || counted.followers.length > 0)) {
        throw new CubbyError('store_damaged', `The log of changes of ${name} has no counter. Nothing was applied.`)
      }
      this.#tables.set(tableId, counted)
    }
    return answers.slice(3 * count)
  }

  /** Adds no runs to these tasks. */
  leaveOut(taskIds: readonly number[]): void {
    this.#runs.leaveOut(taskIds)
  }

  /** The keys of the runs that writes of these records of a table may add, by task. */
  runKeysOf(tableId: number, records: RecordKey[]): [taskId: number, keys: string[]][] {
    return this.#runs.keysOf(this.#tables.get(tableId)!, records)
  }

  /** The time of the newest entry, if the table keeps changes: see `timeInLog`. */
  newestMs(tableId: number): number {
    return this.#tables.get(tableId)!.keepsChanges ? this.#newestMs.get(tableId)! : 0
  }

  /** Notes the applied writes of a table. */
  append(tableId: number, writes: NewEntry[]): void {
    const table = this.#tables.get(tableId)!
    if (table.keepsChanges) this.#add(tableId, writes)
    this.#runs.add(table, writes)
  }

  /** Begins the log of a table that is to keep changes. */
  begin(tableId: number, sinceMs: number, nowMs: number): void {
    this.#add(tableId, [{ kind: entryKind.begin, atMs: nowMs, hashKey: '', rangeKey: '', version: sinceMs }])
  }

  #add(tableId: number, added: NewEntry[]): void {
    let seq = this.#seqs.get(tableId)!
    const entries = this.#entries.get(tableId) ?? []
    for (const entry of added) {
      const atMs = entryTime(entry.atMs, entry.version, this.#newestMs.get(tableId)!)
      entries.push({ ...entry, seq: ++seq, atMs })
      this.#newestMs.set(tableId, atMs)
    }
    this.#seqs.set(tableId, seq)
    if (entries.length > 0) this.#entries.set(tableId, entries)
  }

  get statements(): BoundStatement[] {
    const { fromArrays, at } = this.#options
    const logs = [...this.#entries].flatMap(([tableId, entries]) => [
      ...entryStatements(tableId, entries, fromArrays),
      bind(sql.moveFeed, tableId, this.#seqs.get(tableId)!),
    ])
    return [...logs, ...this.#runs.statements(at)]
  }

  /** The logs that grow, with the numbers of their newest entries. */
  get grown(): [tableId: number, seq: number][] {
    return [...this.#entries.keys()].map((tableId) => [tableId, this.#seqs.get(tableId)!])
  }
}

interface TableLogsOptions {
  db: Database
  /** See `Dialect`. */
  putsFromArrays: boolean
  clock: Clock
  waitMsMax: number
  observer: StoreObserver | undefined
}

/** All counted writes of tables go through here. */
export class TableLogs {
  readonly followers: LogFollowers
  readonly turns: TableTurns
  readonly #db: Database
  readonly #fromArrays: boolean
  readonly #clock: Clock
  readonly #observer: StoreObserver | undefined

  constructor({ db, putsFromArrays, clock, waitMsMax, observer }: TableLogsOptions) {
    this.#db = db
    this.#observer = observer
    this.#fromArrays = putsFromArrays
    this.#clock = clock
    this.followers = new LogFollowers(db)
    this.turns = new TableTurns(waitMsMax)
  }

  open(tableIds: readonly number[], nowMs: number): OpenLogs {
    return new OpenLogs(tableIds, { fromArrays: this.#fromArrays, at: this.#clock(nowMs) })
  }

  /** Runs a transaction in its turn of the tables. */
  run<T>(
    holder: Holder,
    tableIds: readonly number[],
    nowMs: number,
    work: (transaction: Transaction, logs: OpenLogs) => Promise<T>,
  ): Promise<T> {
    return this.turns.run(holder, tableIds, () => this.runInTurn(holder, tableIds, nowMs, work))
  }

  /** Runs a transaction whose caller has its turn. Without a commit nothing must be appended. */
  async runInTurn<T>(
    holder: Holder,
    tableIds: readonly number[],
    nowMs: number,
    work: (transaction: Transaction, logs: OpenLogs) => Promise<T>,
  ): Promise<T> {
    let logs = this.open(tableIds, nowMs)
    let added = 0
    const result = await this.#db.transaction(holder, (transaction) => {
      // It may run again.
      logs = this.open(tableIds, nowMs)
      const commit = async (...bound: BoundStatement[]): Promise<StatementResult[]> => {
        const answers = await transaction.commit(...bound)
        added = countAdded(bound, answers)
        return answers
      }
      return work({ ...transaction, commit }, logs)
    })
    if (added > 0) this.#observer?.runs('added', added)
    for (const [tableId, seq] of logs.grown) this.followers.note(tableId, seq)
    return result
  }
}
