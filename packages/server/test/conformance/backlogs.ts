import { expect } from 'bun:test'
import type { Declaration } from '../../src/core/tasks/declaration.ts'
import type { Run } from '../../src/core/tasks/run.ts'
import { newRunId } from '../../src/core/tasks/run-id.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Case } from '../engine-conformance.ts'
import { makeTenant, startMs, type Tenant } from './fixture.ts'
import { declared } from './runs.ts'

// An organization decides how much it has due. If a look read only the rows that are due longest, those of another
// organization would wait until all of the first have had their turn.

/** A look reads fewer in the order of times. */
const backlog = 550

/** Rows of one load: a load is one transaction. */
const loadRowsMax = 500

export interface Backlog {
  tenant: Tenant
  /** The number of tasks, each with one schedule and one run. */
  count: number
  /** A running run has a lease that has expired. A queued one is due. */
  status?: 'running' | 'queued'
  firstId: number
  /** The time from which schedules and leases are due. */
  sinceMs: number
  declaration?: Partial<Declaration>
}

/** Loads tasks whose schedules are due, each with a run. Returns the ids of the tasks. */
export const loadBacklog = async (engine: Engine, wanted: Backlog): Promise<number[]> => {
  const { tenant, count, firstId, sinceMs, declaration, status = 'running' } = wanted
  const lease = status === 'running' ? { lease: 'lease', leaseUntilMs: sinceMs } : { lease: null, leaseUntilMs: null }
  const ids = Array.from({ length: count }, (_, i) => firstId + i)
  for (let at = 0; at < count; at += loadRowsMax) {
    const some = ids.slice(at, at + loadRowsMax)
    const tables = some.map((id) => ({
      ...{
        id,
        orgId: tenant.org.id,
        db: 'app',
        name: `task-${id}`,
        indices: {},
        createdAtMs: startMs,
        deletedAtMs: null,
        changes: null,
        followers: [],
      },
      ...{ kind: 'task' as const, publicId: null, purging: false, epoch: 0 },
    }))
    await engine.transfer.load({ tables })
    const tasks = some.map((tableId) => ({
      ...{ tableId, updatedAtMs: startMs, nextRunAtMs: sinceMs, servedAtMs: null, secrets: [] },
      declaration: { ...declared, schedule: { every: 1, payload: '{}' }, ...declaration },
    }))
    const runs = some.map(
      (taskId): Run => ({
        ...{ seq: taskId, taskId, id: newRunId(), status, key: null, user: null, payload: '{}', runAtMs: startMs },
        ...{ attempt: 1, progress: null, result: null, error: null, createdAtMs: startMs, updatedAtMs: startMs },
        ...{ finishedAtMs: null, ...lease, doneLease: null, held: false },
      }),
    )
    await engine.transfer.load({ tasks, runs })
  }
  return ids
}

/** Counts the looks until each of these tasks had its turn. */
export const countLooks = async (
  taskIds: number[],
  look: () => Promise<{ taskId: number }[]>,
  looksMax = 1_000,
): Promise<number> => {
  const waiting = new Set(taskIds)
  for (let looks = 1; looks <= looksMax; looks++) {
    for (const { taskId } of await look()) waiting.delete(taskId)
    if (waiting.size === 0) return looks
  }
  return Number.POSITIVE_INFINITY
}

export const backlogCases = (test: Case): void => {
  test('organizations take turns behind a backlog of one: none waits for the second turn of another', async ({
    engine,
  }) => {
    const nowMs = Date.now()
    const old = { count: backlog, firstId: 1_000, sinceMs: nowMs - 60_000 }
    await loadBacklog(engine, { tenant: await makeTenant(engine), ...old })
    const last: number[] = []
    for (let i = 0; i < 9; i++) {
      const tenant = await makeTenant(engine, `other-${i}`)
      const ids = await loadBacklog(engine, { tenant, count: 2, firstId: 3_000 + 10 * i, sinceMs: nowMs })
      last.push(ids[0]!)
    }
    // Ten organizations in steps of three: the first of each is in one of the first four, whatever the others have due.
    const fire = async () => (await engine.runs.fireSchedules(Date.now(), 3)).created
    expect(await countLooks(last, fire)).toBeLessThanOrEqual(4)
    expect(await countLooks(last, () => engine.runs.expireLeases(Date.now(), 3))).toBeLessThanOrEqual(4)
  }, 120_000)
}
