import type { Holder } from '../../../core/shares.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Once } from '../../../store/idempotency.ts'
import type { Table } from '../../../store/tables.ts'
import type { DumpedTask } from '../../../store/transfer.ts'
import type { Database } from '../connection/database.ts'
import type { BoundStatement, Row } from '../connection/driver.ts'
import { isDuplicate, unavailable } from '../connection/failure.ts'
import { organizationDeleted, revokedApiKey, tableGone } from '../records/write-guard.ts'
import { commitOnce } from '../registry/idempotency-keys.ts'
import { taskState } from '../tasks/statements.ts'
import { taskColumnCount, toTask } from '../tasks/task-rows.ts'

/** A change is tried this often while other processes add runs with the same id or key. */
const raceAttemptsMax = 20

/** The state of a task, read by a transaction after it has locked runs. */
export interface LockedTask extends DumpedTask {
  isActive: boolean
  organizationIsActive: boolean
  nowMs: number
}

export const stateStatement = (taskId: number, caller: Caller | undefined, at: number | null): BoundStatement => ({
  statement: taskState,
  values: [taskId, caller?.apiKey?.seq ?? null, at],
})

/**
 * Takes the rows of `stateStatement`. It returns undefined if the task was purged, and throws if the caller's key is revoked.
 */
export const toLockedTask = ([row]: Row[]): LockedTask | undefined => {
  if (row === undefined) return undefined
  const [isActive, keyIsActive, now, organization] = row.slice(taskColumnCount)
  const organizationIsActive = organization === 't'
  if (keyIsActive === 'f' && organizationIsActive) throw revokedApiKey()
  return { ...toTask(row), isActive: isActive === 't', organizationIsActive, nowMs: Number(now) }
}

/** `alsoDeleted` accepts a deleted task, whose attempts may go on. Those of a deleted organization may not. */
export const requireTask = (task: Table, locked: LockedTask | undefined, alsoDeleted = false): LockedTask => {
  if (locked?.organizationIsActive === false) throw organizationDeleted()
  if (locked === undefined || !(locked.isActive || alsoDeleted)) throw tableGone(task)
  return locked
}

/** The answer and the writes of a change. */
export interface Decision<T> {
  outcome: T
  writes: BoundStatement[]
}

interface Change<T> {
  holder: Holder
  /** The idempotency key of a request, and when it came. */
  keyed?: { once: Once; nowMs: number } | undefined
  /** Statements that lock the runs of the change. */
  locks: BoundStatement[]
  state: BoundStatement
  /** Takes the rows of each lock. */
  decide(found: Row[][], task: LockedTask | undefined): Decision<T>
}

/** Locks, judges and writes in one transaction of two round trips. It retries if another process was faster. */
export const changeLockedRuns = <T>(db: Database, { holder, keyed, locks, state, decide }: Change<T>): Promise<T> =>
  retryDuplicates(() =>
    db.transaction(holder, async (transaction) => {
      const results = await transaction.send(...locks, state)
      const found = results.map(({ rows }) => rows)
      const { outcome, writes } = decide(found.slice(0, -1), toLockedTask(found.at(-1)!))
      if (writes.length === 0) return outcome
      const { orgId } = holder
      return commitOnce(transaction, { orgId, once: keyed?.once }, keyed?.nowMs ?? 0, writes, () => outcome)
    }),
  )

/** A duplicate means that another process has added a run since this one looked: the next attempt finds it. */
export const retryDuplicates = async <T>(attempt: () => Promise<T>): Promise<T> => {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isDuplicate(error)) throw error
      if (count >= raceAttemptsMax) throw unavailable('The run kept changing.')
    }
  }
}
