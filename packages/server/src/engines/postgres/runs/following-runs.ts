import { batchOperationsMax } from '../../../core/limits.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import { type FollowedWrite, type Follower, keyOfRecord, runOfWrite } from '../../../core/tasks/following.ts'
import type { NewRun } from '../../../core/tasks/run.ts'
import { bytesArray, textArray } from '../connection/arrays.ts'
import { toBytes } from '../connection/bytes.ts'
import { type BoundStatement, bind, type Statement, type StatementResult } from '../connection/driver.ts'
import { followRows, holdKeys, lockNamedAndRunning } from './statements.ts'

/** Statements are made once for each number of rows. */
const rowsOf = Array.from({ length: batchOperationsMax + 1 }, (_, count) => followRows(count))

/** The runs that the writes of one transaction add to the tasks that follow their tables. */
export class FollowingRuns {
  /** By task, then by key: of several writes of a record the newest counts. */
  readonly #runs = new Map<number, Map<string, NewRun>>()
  #leftOut: readonly number[] = []

  /** Adds none to these tasks. */
  leaveOut(taskIds: readonly number[]): void {
    this.#leftOut = taskIds
  }

  /** The keys of the runs that writes of these records may add, by task. */
  keysOf({ followers }: { followers: Follower[] }, records: RecordKey[]): [taskId: number, keys: string[]][] {
    const keys = records.map(keyOfRecord)
    return followers.flatMap(({ taskId }) => (this.#leftOut.includes(taskId) ? [] : [[taskId, keys]]))
  }

  add(table: { db: string; name: string; followers: Follower[] }, writes: FollowedWrite[]): void {
    for (const follower of table.followers) {
      const { taskId } = follower
      if (this.#leftOut.includes(taskId)) continue
      const runs = this.#runs.get(taskId) ?? new Map<string, NewRun>()
      for (const write of writes) {
        const run = runOfWrite(table, follower, write)
        if (run !== undefined) runs.set(run.key!, run)
      }
      if (runs.size > 0) this.#runs.set(taskId, runs)
    }
  }

  /**
   * All processes lock runs in this order: running ones before queued ones, and of each kind by task. The counter of the table is
   * locked before, so the keys of its followers are added by one transaction at a time. `at`: the time of a test.
   */
  statements(at: number | null): BoundStatement[] {
    const ofTasks = [...this.#runs].sort(([a], [b]) => a - b)
    const keysOf = (runs: Map<string, NewRun>) => bytesArray([...runs.keys()])
    return [
      ...ofTasks.map(([taskId, runs]) => bind(lockNamedAndRunning, taskId, textArray([]), keysOf(runs))),
      ...ofTasks.flatMap(([taskId, runs]) => addStatements(taskId, [...runs.values()], at)),
      ...ofTasks.map(([taskId, runs]) => bind(holdKeys, taskId, keysOf(runs))),
    ]
  }
}

const addingStatements: ReadonlySet<Statement> = new Set(rowsOf)

/** Takes all statements of a commit and their results. A run that was merged into a queued one has the id of that. */
export const countAdded = (bound: BoundStatement[], answers: StatementResult[]): number => {
  let count = 0
  for (const [i, { statement, values }] of bound.entries()) {
    if (!addingStatements.has(statement)) continue
    const ids = new Set(values)
    for (const [id] of answers[i]!.rows) if (ids.has(id!)) count++
  }
  return count
}

const addStatements = (taskId: number, runs: NewRun[], at: number | null): BoundStatement[] => {
  const bound: BoundStatement[] = []
  for (let from = 0; from < runs.length; from += batchOperationsMax) {
    const rows = runs.slice(from, from + batchOperationsMax)
    const values = rows.flatMap(({ id, key, payload }) => [id, toBytes(key!), payload])
    bound.push(bind(rowsOf[rows.length]!, taskId, at, ...values))
  }
  return bound
}
