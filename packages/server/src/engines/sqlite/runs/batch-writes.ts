import { CubbyError } from '../../../core/errors.ts'
import { PatchResults } from '../../../core/records/record-patch.ts'
import type { RecordOperation } from '../../../store/records.ts'
import {
  type AddResult,
  type BatchedChange,
  type BatchResult,
  changeOf,
  type RunChange,
  type TaskOperation,
} from '../../../store/runs.ts'
import type { ChangeLog } from '../changes/change-log.ts'
import type { Connection } from '../connection.ts'
import { longestPatched } from '../records/longest-patched.ts'
import type { RecordWrites } from '../records/record-writes.ts'
import type { Fence, RegistryWrites } from '../registry/registry-writes.ts'
import type { FollowedWrites } from './followed-writes.ts'
import type { RunWrites } from './run-writes.ts'

/** The form that a task operation has in a command. */
type TaskCommand =
  | ({ taskId: number } & Omit<Extract<TaskOperation, { op: 'run' }>, 'task'>)
  | ({ taskId: number } & Omit<Extract<TaskOperation, { op: 'finish' }>, 'task'>)

interface BatchCommandPart {
  tableId: number
  records: RecordOperation[]
}

interface Writers {
  db: Connection
  log: ChangeLog
  followed: FollowedWrites
  registry: RegistryWrites
  records: RecordWrites
  runs: RunWrites
}

/** Thrown to undo what the batch has written so far. */
class Refused extends Error {
  constructor(readonly result: BatchResult) {
    super('refused')
  }
}

/** Writes records and runs together, or nothing. Other commands of the same commit are not concerned. */
export const batch = (
  { db, log, followed, registry, records, runs }: Writers,
  command: { fence: Fence; parts: BatchCommandPart[]; tasks: TaskCommand[]; nowMs: number },
): BatchResult & { patched?: number[] } => {
  const { fence, parts, tasks, nowMs } = command
  for (const { tableId } of parts) registry.checkFence({ ...fence, tableId })
  for (const { op, taskId } of tasks) if (op === 'run') registry.checkFence({ ...fence, tableId: taskId })
  const change = (operation: TaskCommand): AddResult | RunChange =>
    operation.op === 'run'
      ? runs.add(operation.taskId, operation.run, nowMs)
      : runs.finish(operation.taskId, operation.id, operation.finish, true, nowMs)
  const { added } = followed
  db.run('SAVEPOINT batch')
  try {
    const changes: BatchedChange[] = []
    const runIds = tasks.map((operation, i) => {
      const changed = change(operation)
      if (!('refused' in changed)) {
        changes.push(changeOf(changed))
        return changed.run.id
      }
      const { refused } = changed
      if (refused === 'finished') throw new Error('a finish was refused as a cancel')
      throw new Refused({ applied: false, failedTask: i, refused })
    })
    const patches = new PatchResults()
    const finished = tasks.flatMap(({ op, taskId }) => (op === 'finish' ? [taskId] : []))
    // The conditions of all parts come before their patches, as they do within one part.
    const foundOf = parts.map(({ tableId, records: operations }, failedPart) => {
      const found = records.find(tableId, operations, nowMs)
      if (Array.isArray(found)) return found
      const { failedOperation: failedRecord, current } = found
      throw new Refused({ applied: false, failedPart, failedRecord, current })
    })
    const patched = followed.without(finished, () =>
      parts.map(({ tableId, records: operations }, i) =>
        longestPatched(records.apply(tableId, operations, foundOf[i]!, nowMs, patches).results),
      ),
    )
    db.run('RELEASE batch')
    return { applied: true, runIds, changes, patched }
  } catch (error) {
    const isOurs = error instanceof Refused || error instanceof CubbyError
    // Any other error ends the whole transaction: see WriteConnection.
    if (isOurs) {
      db.run('ROLLBACK TO batch; RELEASE batch')
      records.forgetReservedIds()
      log.forget()
      followed.rolledBack(added)
    }
    if (error instanceof Refused) return error.result
    throw error
  }
}
