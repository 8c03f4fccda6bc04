import { takeTurns } from '../../../core/tasks/due-turns.ts'
import type { PushPositions } from '../../../core/tasks/push-positions.ts'
import type { DuePushes, Runs } from '../../../store/runs.ts'
import type { Table } from '../../../store/tables.ts'
import { bigintArray } from '../connection/arrays.ts'
import { type Database, noOrg } from '../connection/database.ts'
import { bind } from '../connection/driver.ts'
import { toTable } from '../registry/rows.ts'
import { tasksAskedMax } from './due-runs.ts'
import * as sql from './statements.ts'
import type { TaskTurns } from './task-turns.ts'

/** One look for pushes returns at most this many tasks. The next look finds the others. */
const duePushTasksMax = 1_000

/** One look asks at most this many tasks of an organization. The next look continues with the others. */
const pushingTasksMax = 1_000

export type Without = NonNullable<Parameters<Runs['duePushes']>[1]>

interface Queued {
  queued: QueuedTask[]
  nowMs: number
  /** True if tasks are left for the next look. */
  isMore: boolean
}

interface QueuedTask {
  task: Table
  runAtMs: number
}

/**
 * Reads the tasks with a queued run, in turns of their organizations, and the time of the database. Each task takes two seeks.
 */
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
    bind(sql.duePushesInOne, ...page, duePushTasksMax + 1, at, bigintArray(taskIds)),
    bind(sql.pushStops, ...page),
  )
  for (const [orgId, taskId] of stops!.rows) positions.stop(Number(orgId), Number(taskId))
  const queued = found!.rows.map((row) => ({ task: toTable(row), runAtMs: Number(row.at(-2)) }))
  return { queued, nowMs: Number(found!.rows[0]?.at(-1) ?? 0), isMore: positions.end() }
}

/**
 * Reads the same where no statement may name both runs and tasks. While a server cannot be reached, it asks some of the tasks.
 */
const readQueuedInTwo = async (
  db: Database,
  at: number | null,
  { orgIds, taskIds }: Without,
  turns: TaskTurns,
): Promise<Queued> => {
  const allTasks = bind(sql.allPushingTasks, at)
  const [found, runs] = await db.read(noOrg, allTasks, bind(sql.findQueued)).catch(async (error: unknown) => {
    const registry = await db.read(noOrg, allTasks)
    db.requirePart(error)
    return registry
  })
  const tasks = found!.rows.map((row) => toTable(row))
  const wanted = tasks.filter(({ id, orgId }) => !orgIds.includes(orgId) && !taskIds.includes(id))
  const asked = runs === undefined ? turns.next(wanted, tasksAskedMax) : wanted
  const runAtOf =
    runs === undefined
      ? await firstOfEach(db, asked)
      : new Map(runs.rows.map(([id, runAt]) => [Number(id), Number(runAt)]))
  const queued = asked.flatMap((task) => {
    const runAtMs = runAtOf.get(task.id)
    return runAtMs === undefined ? [] : [{ task, runAtMs }]
  })
  queued.sort((a, b) => a.runAtMs - b.runAtMs)
  return {
    queued: takeTurns(queued, ({ task }) => task.orgId),
    nowMs: Number(found!.rows[0]?.at(-1) ?? 0),
    isMore: asked.length < wanted.length,
  }
}

const firstOfEach = async (db: Database, tasks: Table[]): Promise<Map<number, number>> => {
  const lookups = tasks.map(({ id }) => bind(sql.findFirstQueued, id))
  const found = await db.readEach(noOrg, lookups)
  return new Map(
    tasks.flatMap(({ id }, i) => {
      const runAt = found[i]?.rows[0]?.[0]
      return runAt == null ? [] : [[id, Number(runAt)]]
    }),
  )
}

/**
 * The position at which looks continue: in each organization's tasks, or among all tasks if no statement may name runs and
 * tasks.
 */
export type PushPolls = { positions: PushPositions } | { turns: TaskTurns }

export const findDuePushes = async (
  db: Database,
  at: number | null,
  polls: PushPolls,
  callersMs: number,
  without: Without = { orgIds: [], taskIds: [] },
): Promise<DuePushes> => {
  const { queued, nowMs, isMore } =
    'turns' in polls
      ? await readQueuedInTwo(db, at, without, polls.turns)
      : await readQueued(db, at, without, polls.positions)
  const due = queued.filter(({ runAtMs }) => runAtMs <= nowMs).slice(0, duePushTasksMax)
  const next = queued.reduce((least, { runAtMs }) => (runAtMs > nowMs ? Math.min(least, runAtMs) : least), Infinity)
  return {
    tasks: due.map(({ task }) => task),
    // The caller sleeps until then, so it is a time of the caller's clock.
    nextAtMs: next === Infinity ? undefined : next - nowMs + callersMs,
    isMore,
  }
}
