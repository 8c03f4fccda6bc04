import { leaseSecondsMax, sweepGraceMs } from '../../../core/limits.ts'
import {
  type ChosenStep,
  type Due,
  type DueQueries,
  DueTurns,
  takeTurns,
  WakeChecks,
} from '../../../core/tasks/due-turns.ts'
import { PushPositions } from '../../../core/tasks/push-positions.ts'
import { clockErrorMs } from '../../../core/tasks/schedule.ts'
import type { Runs } from '../../../store/runs.ts'
import type { OpenStore } from '../open-store.ts'
import { isOfActive, type TableRow, tableColumns, toTable } from '../registry/rows.ts'
import {
  allTasks,
  dueSchedules,
  dueSchedulesOf,
  expiredLeases,
  expiredLeasesOf,
  firstPushes,
  leasedOrganizations,
  leasesAhead,
  pushingOrganizations,
  runsFromAhead,
  runsToSweep,
  scheduledOrganizations,
  schedulesAhead,
} from './due-statements.ts'

// The background looks for due work every half second, and mostly finds none: a read is cheaper than a turn of the writer.

/** One look for pushes returns at most this many tasks. The next look finds the others. */
const duePushTasksMax = 1_000

/** One look for pushes reads at most this many tasks of an organization. The next look continues with the others. */
const pushingTasksMax = 1_000

/** All other writes wait for a step, so its texts are bounded as well as its rows. */
const stepBytesMax = 1_048_576

/**
 * A look for due schedules or leases reads this many organizations: each takes about 3 µs of the thread that serves requests.
 */
const organizationsMax = 500

/** A look has three statements: due rows by time, due rows of one organization, and the organizations that have any. */
const leaseStatements = { first: expiredLeases, firstOf: expiredLeasesOf, organizations: leasedOrganizations }
const scheduleStatements: typeof leaseStatements = {
  ...{ first: dueSchedules, firstOf: dueSchedulesOf, organizations: scheduledOrganizations },
}

interface DueRow extends Due {
  id: number
}

/** A walk through tasks reads this many rows at once, and lets requests in after this time. */
const walkRowsMax = 20
const walkMsMax = 2
/** Every id is above it. */
const beforeAll = Number.MIN_SAFE_INTEGER

interface PushingTask {
  id: number
  orgId: number
  /** The time at which its first queued run is due. */
  at: number | null
}

interface KnownTask {
  id: number
  orgId: number
  keepSeconds: number
}

const known = (ms: number): number | undefined => (ms === Number.POSITIVE_INFINITY ? undefined : ms)

export const dueWork = (
  store: OpenStore,
): Pick<Runs, 'duePushes' | 'expireLeases' | 'fireSchedules' | 'sweepFinished'> => {
  /** The result of the last look for pushes, and the state of the database that it saw. */
  let lastFound: { dataVersion: number; nextAtMs: number } | undefined
  /** Looks for pushes that together read all tasks. `isQuiet`: nothing was due, and nothing was committed meanwhile. */
  let round = { dataVersion: 0, nextAtMs: Number.POSITIVE_INFINITY, isQuiet: true }
  let sweepAfter = beforeAll
  const positions = new PushPositions()
  const wakes = new WakeChecks()
  const resets = new WakeChecks()
  const leaseTurns = new DueTurns()
  const scheduleTurns = new DueTurns()

  /** The rows of a statement that takes ?1 the last id seen, ?2 rows, and then `values`: in small pages. */
  function* each<Row extends { id: number }>(sql: string, afterId: number, ...values: number[]): Generator<Row> {
    for (let last = afterId; ; ) {
      const rows = store.db.all<Row>(sql, last, walkRowsMax, ...values)
      yield* rows
      if (rows.length < walkRowsMax) return
      last = rows.at(-1)!.id
    }
  }

  /** Some tasks of each organization. The next look continues with those of it that are left. */
  function* pushingTasks(after: ReadonlyMap<number, number>, withoutOrgs: Set<number>): Generator<PushingTask> {
    for (const { id: orgId } of each<{ id: number }>(pushingOrganizations, beforeAll)) {
      if (withoutOrgs.has(orgId)) continue
      let count = 0
      for (const task of each<PushingTask>(firstPushes, after.get(orgId) ?? beforeAll, orgId)) {
        yield task
        if (++count < pushingTasksMax) continue
        positions.stop(orgId, task.id)
        break
      }
    }
  }

  /**
   * Calls `visit` for each row until it returns true. A tenant decides how many rows there are, and this thread serves
   * requests: they get their turns in between.
   */
  const walk = async <Row>(rows: Iterator<Row>, visit: (row: Row) => unknown): Promise<void> => {
    for (;;) {
      const startedAt = performance.now()
      const isEnded = store.read(() => {
        do {
          const { done, value } = rows.next()
          if (done === true || visit(value) === true) return true
        } while (performance.now() - startedAt < walkMsMax)
        return false
      })
      if (isEnded) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  const choose = (
    turns: DueTurns,
    sql: typeof leaseStatements,
    nowMs: number,
    rowsMax: number,
  ): Promise<ChosenStep<DueRow>> => {
    const queries: DueQueries<DueRow> = {
      organizationsMax,
      first: (most) => store.read(() => store.db.all<DueRow>(sql.first, nowMs, most)),
      organizations: (afterId, most) =>
        store
          .read(() => store.db.all<{ id: number; isDue: number }>(sql.organizations, afterId, most, nowMs))
          .map(({ id, isDue }) => ({ id, isDue: isDue === 1 })),
      firstOf: (orgIds, most) =>
        store.read(() => orgIds.flatMap((orgId) => store.db.all<DueRow>(sql.firstOf, orgId, nowMs, most))),
    }
    return turns.choose(queries, rowsMax, stepBytesMax)
  }

  /** Runs that lie in the future because the clock was set back, in turns of their organizations. */
  const findToWake = async (nowMs: number, rowsMax: number): Promise<number[]> => {
    if (!wakes.isDue(nowMs)) return []
    const found = new Map<number, { seq: number; orgId: number }[]>()
    await walk(each<KnownTask>(allTasks, beforeAll), ({ id, orgId }) => {
      const ofOrganization = found.get(orgId) ?? []
      const rows = store.db.all<{ seq: number }>(runsFromAhead, id, nowMs, rowsMax - ofOrganization.length)
      if (rows.length > 0) found.set(orgId, [...ofOrganization, ...rows.map(({ seq }) => ({ seq, orgId }))])
    })
    if (found.size === 0) wakes.foundNone(nowMs)
    const all = [...found.values()].flat()
    return takeTurns(all, ({ orgId }) => orgId)
      .slice(0, rowsMax)
      .map(({ seq }) => seq)
  }

  /** Tasks whose schedules lie in the future because the clock was set back. */
  const findToReset = (nowMs: number, rowsMax: number): number[] => {
    if (!resets.isDue(nowMs)) return []
    const found = store.read(() => store.db.all<{ id: number }>(schedulesAhead, nowMs + clockErrorMs, rowsMax))
    if (found.length === 0) resets.foundNone(nowMs)
    return found.map(({ id }) => id)
  }

  return {
    /** If nothing was committed since the last look, and nothing has become due, the result is the same: none. */
    async duePushes(nowMs, without = { orgIds: [], taskIds: [] }) {
      // An operator's command may have deleted or restored an organization.
      const dataVersion = store.all<{ data_version: number }>('PRAGMA data_version')[0]!.data_version
      if (lastFound?.dataVersion === dataVersion && nowMs < lastFound.nextAtMs)
        return { tasks: [], nextAtMs: known(lastFound.nextAtMs), isMore: false }
      const due: { row: TableRow; at: number }[] = []
      const leftOut = { orgs: new Set(without.orgIds), tasks: new Set(without.taskIds) }
      let isAnyDue = leftOut.orgs.size > 0
      let nextAtMs = Number.POSITIVE_INFINITY
      if (positions.isAtStart) round = { dataVersion, nextAtMs: Number.POSITIVE_INFINITY, isQuiet: true }
      const ofRound = round
      const after = positions.begin(leftOut.orgs)
      const find = `SELECT ${tableColumns} FROM tables WHERE id = ?1 AND deleted_at IS NULL AND ${isOfActive('org_id')}`
      await walk(pushingTasks(after, leftOut.orgs), ({ id, at }) => {
        if (at === null) return
        if (at > nowMs) {
          nextAtMs = Math.min(nextAtMs, at)
          return
        }
        const isLeftOut = leftOut.tasks.has(id)
        const row = isLeftOut ? undefined : store.db.one<TableRow>(find, id)
        // A deleted task, or one of a deleted organization, is not due: its restore is a commit, which the next look sees.
        if (!isLeftOut && row === undefined) return
        isAnyDue = true
        if (row !== undefined) due.push({ row, at })
      })
      const isMore = positions.end()
      ofRound.nextAtMs = Math.min(ofRound.nextAtMs, nextAtMs)
      if (isAnyDue || ofRound.dataVersion !== dataVersion) ofRound.isQuiet = false
      lastFound = positions.isAtStart && ofRound.isQuiet ? ofRound : undefined
      due.sort((a, b) => a.at - b.at)
      const tasks = takeTurns(due, ({ row }) => row.org_id).slice(0, duePushTasksMax)
      return { tasks: tasks.map(({ row }) => toTable(row, 0)), nextAtMs: known(nextAtMs), isMore }
    },

    async expireLeases(nowMs, rowsMax) {
      const wakes = await findToWake(nowMs, rowsMax)
      const { chosen } = await choose(leaseTurns, leaseStatements, nowMs, rowsMax)
      const seqs = chosen.map(({ id }) => id)
      const isAny = wakes.length > 0 || seqs.length > 0
      const aheadMs = nowMs + leaseSecondsMax * 1000
      if (!isAny && store.read(() => store.db.all(leasesAhead, aheadMs, 1)).length === 0) return []
      return store.channel.submit({ kind: 'expireLeases', seqs, wakes, nowMs, rowsMax })
    },

    async fireSchedules(nowMs, rowsMax) {
      const { chosen, isMore } = await choose(scheduleTurns, scheduleStatements, nowMs, rowsMax)
      const taskIds = chosen.map(({ id }) => id)
      const resets = findToReset(nowMs, rowsMax)
      if (taskIds.length === 0 && resets.length === 0) return { due: 0, created: [] }
      const fired = await store.channel.submit({ kind: 'fireSchedules', taskIds, resets, nowMs })
      return { due: isMore ? rowsMax : taskIds.length, ...fired }
    },

    /** Each step begins after the task at which the last one ended: one task may have more to sweep than all others. */
    async sweepFinished(nowMs, rowsMax) {
      const before = nowMs - sweepGraceMs
      const seqs: number[] = []
      const startAt = sweepAfter
      sweepAfter = beforeAll
      const visit = ({ id, keepSeconds }: KnownTask): boolean => {
        const until = before - 1000 * keepSeconds
        const found = store.db.all<{ seq: number }>(runsToSweep, id, until, rowsMax - seqs.length)
        seqs.push(...found.map(({ seq }) => seq))
        if (seqs.length < rowsMax) return false
        sweepAfter = id
        return true
      }
      await walk(each<KnownTask>(allTasks, startAt), visit)
      if (seqs.length === 0 && startAt !== beforeAll) await walk(each<KnownTask>(allTasks, beforeAll), visit)
      return seqs.length === 0 ? 0 : store.channel.submit({ kind: 'sweepRuns', seqs, before })
    },
  }
}
