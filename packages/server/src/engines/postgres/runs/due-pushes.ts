import type { PushPositions } from '../../../core/tasks/push-positions.ts'
import { takeTurns } from '../../../core/tasks/take-turns.ts'
import type { DuePushes, Runs } from '../../../store/runs.ts'
import type { Table } from '../../../store/tables.ts'
import { bigintArray } from '../connection/arrays.ts'
import { type Database, noOrg } from '../connection/database.ts'
import { toTable } from '../registry/rows.ts'
import { step } from './run-transaction.ts'
import * as sql from './statements.ts'

/** Tasks that one look for pushes returns. The next look finds the others. */
const duePushTasksMax = 1_000

/** Tasks of one organization that one look asks. The next look continues with the others. */
const pushingTasksMax = 1_000

export type Without = NonNullable<Parameters<Runs['duePushes']>[1]>

interface Queued {
  queued: QueuedTask[]
  nowMs: number
}

interface QueuedTask {
  task: Table
  runAtMs: number
}

/** The tasks with a queued run, in turns of their organizations, and the time of the database. Two seeks for each task. */
const readQueued = async (
  db: Database,
  at: number | null,
  { orgIds, taskIds }: Without,
  positions: PushPositions,
): Promise<Queued> => {
  const after = positions.begin(orgIds)
  const page = [pushingTasksMax, bigintArray(orgIds), bigintArray([...after.keys()]), bigintArray([...after.values()])]
  const [found, stops] = await db.read(
    noOrg,
    step(sql.duePushesInOne, ...page, duePushTasksMax + 1, at, bigintArray(taskIds)),
    step(sql.pushStops, ...page),
  )
  for (const [orgId, taskId] of stops!.rows) positions.stop(Number(orgId), Number(taskId))
  const queued = found!.rows.map((row) => ({ task: toTable(row), runAtMs: Number(row.at(-2)) }))
  return { queued, nowMs: Number(found!.rows[0]?.at(-1) ?? 0) }
}

/** Where no statement may name runs and tasks. */
const readQueuedInTwo = async (db: Database, at: number | null, without: Without): Promise<Queued> => {
  const [tasks, runs] = await db.read(noOrg, step(sql.allPushingTasks, at), step(sql.findQueued))
  const runAtOf = new Map(runs!.rows.map(([id, runAt]) => [Number(id), Number(runAt)]))
  const queued = tasks!.rows.flatMap((row) => {
    const task = toTable(row)
    const runAtMs = runAtOf.get(task.id)
    const isLeftOut = without.orgIds.includes(task.orgId) || without.taskIds.includes(task.id)
    return runAtMs === undefined || isLeftOut ? [] : [{ task, runAtMs }]
  })
  queued.sort((a, b) => a.runAtMs - b.runAtMs)
  return { queued: takeTurns(queued, ({ task }) => task.orgId), nowMs: Number(tasks!.rows[0]?.at(-1) ?? 0) }
}

export const findDuePushes = async (
  db: Database,
  at: number | null,
  /** Undefined where no statement may name runs and tasks. */
  positions: PushPositions | undefined,
  callersMs: number,
  without: Without = { orgIds: [], taskIds: [] },
): Promise<DuePushes> => {
  const { queued, nowMs } =
    positions === undefined ? await readQueuedInTwo(db, at, without) : await readQueued(db, at, without, positions)
  const due = queued.filter(({ runAtMs }) => runAtMs <= nowMs).slice(0, duePushTasksMax)
  const next = queued.reduce((least, { runAtMs }) => (runAtMs > nowMs ? Math.min(least, runAtMs) : least), Infinity)
  return {
    tasks: due.map(({ task }) => task),
    // For a sleep of the caller, so by the caller's clock.
    nextAtMs: next === Infinity ? undefined : next - nowMs + callersMs,
    isMore: positions?.end() ?? false,
  }
}
