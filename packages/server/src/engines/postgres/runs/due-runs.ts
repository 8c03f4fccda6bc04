import { leaseSecondsMax, sweepGraceMs } from '../../../core/limits.ts'
import type { Run } from '../../../core/tasks/run.ts'
import { newRunId } from '../../../core/tasks/run-id.ts'
import { clockErrorMs, nextIfKnown, scheduleKey } from '../../../core/tasks/schedule.ts'
import { takeTurns } from '../../../core/tasks/take-turns.ts'
import { createRun, expireAttempt, wakeRun } from '../../../core/tasks/transitions.ts'
import type { FiredSchedules, RunReference } from '../../../store/runs.ts'
import { bigintArray, bytesArray, textArray } from '../connection/arrays.ts'
import { fromHex, toBytes } from '../connection/bytes.ts'
import { type Database, noOrg } from '../connection/database.ts'
import type { Row, Step } from '../connection/driver.ts'
import { drawIds } from '../records/statements.ts'
import * as tasks from '../tasks/statements.ts'
import { taskColumnCount, toTask } from '../tasks/task-rows.ts'
import { toRun } from './run-rows.ts'
import { insertSteps, keyLocks, replaceSteps } from './run-steps.ts'
import { changeRuns, type LockedTask, retryDuplicates, stateStep, step } from './run-transaction.ts'
import * as sql from './statements.ts'

// What time does to runs. Every process on the store does it: each skips what another has locked.

/** A lease is never this far ahead, unless the clock was set back after it was given. */
const leaseMsMax = leaseSecondsMax * 1000

/** Rows that a look reads to choose from: one that has more due than that delays the others. */
const reachedRowsMax = 5_000

/** What one step does. Organizations take turns: none waits behind all that another has due. Rows begin with their task. */
const chooseRows = async (db: Database, reached: Row[], rowsMax: number): Promise<Row[]> => {
  if (reached.length <= rowsMax) return reached
  const ids = bigintArray([...new Set(reached.map(([taskId]) => Number(taskId)))])
  const [found] = await db.read(noOrg, step(tasks.organizationsOf, ids))
  const orgs = new Map(found!.rows.map(([taskId, orgId]) => [taskId, Number(orgId)]))
  return takeTurns(reached, ([taskId]) => orgs.get(taskId!) ?? 0).slice(0, rowsMax)
}

// ── Leases ─────────────────────────────────────────────────────────────────────────────────────────────────

export const expireLeases = async (db: Database, at: number | null, rowsMax: number): Promise<RunReference[]> => {
  const [expired, ahead] = await db.read(
    noOrg,
    step(sql.findExpired, at, reachedRowsMax),
    step(sql.findAhead, at, rowsMax, leaseMsMax),
  )
  const references: RunReference[] = []
  const chosen = await chooseRows(db, expired!.rows, rowsMax)
  for (const [taskId, rows] of Map.groupBy([...chosen, ...ahead!.rows], ([id]) => Number(id))) {
    references.push(...(await expireOfTask(db, taskId, rows, at)))
  }
  return references
}

const expireOfTask = (db: Database, taskId: number, rows: Row[], at: number | null): Promise<RunReference[]> => {
  const ids = textArray(rows.map(([, id]) => id!))
  const keys = bytesArray(rows.flatMap(([, , key]) => (key == null ? [] : [fromHex(key)])))
  return changeRuns(db, {
    holder: noOrg,
    locks: [step(sql.lockRunning, taskId, ids), step(sql.lockQueuedKeys, taskId, keys)],
    state: stateStep(taskId, undefined, at),
    judge: ([running, queued], task) => {
      const queuedKeys = new Set(queued!.map(([key]) => fromHex(key!)))
      const writes: Step[] = []
      const ended: RunReference[] = []
      for (const run of running!.map(toRun)) {
        const changed = task === undefined ? failStray(run) : leaseChange(run, task, queuedKeys)
        if (changed === undefined) continue
        writes.push(...replaceSteps(run, changed))
        if (changed.status !== 'running') ended.push({ taskId, id: run.id })
      }
      return { answer: ended, writes }
    },
  })
}

/** Undefined if its lease holds: it may have been extended since it was found. */
export const leaseChange = (run: Run, { declaration, nowMs }: LockedTask, queuedKeys: Set<string>): Run | undefined => {
  if (run.leaseUntilMs! <= nowMs) {
    return expireAttempt(run, declaration, run.key !== null && queuedKeys.has(run.key), Math.random(), nowMs)
  }
  if (run.leaseUntilMs! <= nowMs + leaseMsMax) return undefined
  return { ...run, leaseUntilMs: nowMs + declaration.leaseSeconds * 1000 }
}

/** A run without a task is damage, which verify reports. It must not come back in every step. */
const failStray = (run: Run): Run => ({
  ...run,
  ...{ status: 'failed', finishedAtMs: run.updatedAtMs, lease: null, leaseUntilMs: null },
})

/** The clock was set back: see `wakeRun`. Whether there were any. Not where no statement may name runs and tasks. */
export const wakeRuns = async (db: Database, at: number | null, rowsMax: number): Promise<boolean> => {
  const [found] = await db.read(noOrg, step(sql.findFromAhead, at, rowsMax, clockErrorMs, toBytes(scheduleKey)))
  for (const [taskId, rows] of Map.groupBy(found!.rows, ([id]) => Number(id))) {
    await changeRuns(db, {
      holder: noOrg,
      locks: rows.map(([, id]) => step(sql.lockRun, taskId, id!)),
      state: stateStep(taskId, undefined, at),
      judge: (locked, task) => {
        const runs = locked.flatMap(([row]) => (row === undefined ? [] : [toRun(row)]))
        const writes = runs.flatMap((run) => {
          const woken = task && wakeRun(run, task.nowMs)
          return woken === undefined ? [] : replaceSteps(run, woken)
        })
        return { answer: undefined, writes }
      },
    })
  }
  return found!.rows.length > 0
}

// ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────

export const fireSchedules = async (db: Database, at: number | null, rowsMax: number): Promise<FiredSchedules> => {
  const [due, ahead] = await db.read(
    noOrg,
    step(tasks.dueSchedules, at, reachedRowsMax),
    step(tasks.servedAhead, at, rowsMax, clockErrorMs),
  )
  const created: RunReference[] = []
  let unknown = 0
  const chosen = await chooseRows(db, due!.rows, rowsMax)
  for (const [id] of chosen) {
    const made = await fireSchedule(db, Number(id), at)
    if (made === 'unknown') unknown++
    else created.push(...made)
  }
  for (const [id] of ahead!.rows) await resetSchedule(db, Number(id), at)
  return { due: chosen.length, created, ...(unknown > 0 && { unknown }) }
}

/** Of several processes one creates the run: the row of the task is locked, and looked at again. */
const fireSchedule = (db: Database, taskId: number, at: number | null): Promise<RunReference[] | 'unknown'> =>
  retryDuplicates(() =>
    db.transaction(noOrg, async ({ send, commit }): Promise<RunReference[] | 'unknown'> => {
      const results = await send(step(tasks.takeSchedule, taskId, at), ...keyLocks(taskId, scheduleKey), step(drawIds))
      const [[row], running, queued, [drawn]] = results.map(({ rows }) => rows) as [Row[], Row[], Row[], Row[]]
      if (row === undefined) return []
      const { declaration, nextRunAtMs } = toTask(row)
      const [isActive, now] = row.slice(taskColumnCount)
      const [nowMs, { schedule }] = [Number(now), declaration]
      if (nextRunAtMs === null || nextRunAtMs > nowMs) return []
      const next = nextIfKnown(schedule, nowMs, nowMs)
      if (next === undefined) return 'unknown'
      const writes = [step(tasks.setSchedule, taskId, next, nowMs)]
      // The times of a deleted organization pass without runs: once it is restored, its schedules go on at their next times.
      if (schedule === null || isActive === 'f' || queued.length > 0) {
        await commit(...writes)
        return []
      }
      const asked = { id: newRunId(), isNamed: false, key: scheduleKey, payload: schedule.payload }
      const made = { ...asked, at: { runAtMs: nextRunAtMs } }
      const run = createRun(Number(drawn![0]), taskId, made, running.length > 0, nowMs)
      await commit(...writes, ...insertSteps(run))
      return [{ taskId, id: run.id }]
    }),
  )

/** The clock was set back: the times that were served ahead count as not served. */
const resetSchedule = (db: Database, taskId: number, at: number | null): Promise<void> =>
  db.transaction(noOrg, async ({ send, commit }) => {
    const [taken] = await send(step(tasks.takeSchedule, taskId, at))
    const row = taken!.rows[0]
    if (row === undefined) return
    const { declaration, nextRunAtMs, servedAtMs } = toTask(row)
    const nowMs = Number(row[taskColumnCount + 1])
    if (nextRunAtMs === null || servedAtMs === null || servedAtMs <= nowMs + clockErrorMs) return
    const next = nextIfKnown(declaration.schedule, servedAtMs, nowMs)
    if (next !== undefined) await commit(step(tasks.setSchedule, taskId, next, null))
  })

// ── Finished runs that are no longer kept ──────────────────────────────────────────────────────────────────

const tasksPerLook = 500

export const sweepFinished = async (
  db: Database,
  at: number | null,
  rowsMax: number,
  namesManyTables: boolean,
): Promise<number> => {
  if (namesManyTables) return (await db.write(noOrg, step(sql.sweepInOne, at, rowsMax, sweepGraceMs)))[0]!.count
  let removed = 0
  for (let last = Number.MIN_SAFE_INTEGER; ; ) {
    const [clock, found] = await db.read(noOrg, step(tasks.readClock, at), step(tasks.tasksToSweep, last, tasksPerLook))
    const before = Number(clock!.rows[0]![0]) - sweepGraceMs
    for (const [id, keepSeconds] of found!.rows) {
      const values = [id!, before - 1000 * Number(keepSeconds), rowsMax - removed]
      removed += (await db.write(noOrg, step(sql.sweepTask, ...values)))[0]!.count
      if (removed >= rowsMax) return removed
    }
    if (found!.rows.length < tasksPerLook) return removed
    last = Number(found!.rows.at(-1)![0])
  }
}
