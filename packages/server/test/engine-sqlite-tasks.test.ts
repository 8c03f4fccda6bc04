import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recoveryMs, sweepGraceMs } from '../src/core/limits.ts'
import type { Run } from '../src/core/tasks/run.ts'
import { newRunId } from '../src/core/tasks/run-id.ts'
import type { Schedule } from '../src/core/tasks/schedule.ts'
import { newTaskSecret } from '../src/core/tasks/task-secret.ts'
import { type EmbeddedEngine, openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import { makeSchema } from '../src/engines/sqlite/migrations/schema.ts'
import * as statements from '../src/engines/sqlite/runs/due-statements.ts'
import type { Table } from '../src/store/tables.ts'
import { expectRefusal, makeTenant, startMs, type Tenant } from './conformance/fixture.ts'
import { declared, makeBench } from './conformance/runs.ts'
import { expectSound } from './engine-conformance.ts'

// Only the embedded engine can show these promises: it uses the clock that a test gives it, and its file can be changed.

const hourMs = 60 * 60 * 1000
const yearMs = 365 * 24 * hourMs

let dataDir = ''
let engine: EmbeddedEngine

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'cubby-tasks-'))
  engine = await openSqliteEngine({ dataDir })
})

afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Changes the closed store, and opens it again. */
const change = async (sql: string): Promise<void> => {
  await engine.close()
  const db = new Database(join(dataDir, 'cubby.db'))
  db.run(sql)
  db.close()
  engine = await openSqliteEngine({ dataDir })
}

const findings = async (): Promise<string[]> => {
  const lines: string[] = []
  for await (const line of engine.maintenance.check()) lines.push(line)
  return lines
}

const declareAt = async (nowMs: number, more: object) => {
  const tenant = await makeTenant(engine)
  const declaration = { ...declared, ...more, keepsAuthorization: false, newSecret: newTaskSecret() }
  const result = await engine.tasks.declare(tenant.caller, 'app', 'mail', declaration, undefined, nowMs)
  if (!result.applied) throw new Error('not declared')
  const add = (delayMs = 0, atMs = nowMs, key: string | null = null) =>
    engine.runs.add(
      tenant.caller,
      result.task,
      { id: newRunId(), isNamed: false, key, payload: '{"a":1}', at: { delayMs } },
      atMs,
    )
  return { tenant, task: result.task, add }
}

describe('a clock that jumps', () => {
  const hourly = { schedule: { every: 3_600, payload: '{}' } }
  const nextOf = async (task: Awaited<ReturnType<typeof declareAt>>['task'], nowMs: number) =>
    (await engine.tasks.read([task], nowMs))[0]!.nextRunAtMs

  test('back by up to an hour repeats no time of a schedule', async () => {
    const { task } = await declareAt(startMs, hourly)
    const noon = (await nextOf(task, startMs))!
    expect((await engine.runs.fireSchedules(noon + 10, 10)).created).toHaveLength(1)
    const run = await engine.runs.claim(
      (await makeTenant(engine, 'other')).operator,
      task,
      { limit: 1, leaseMs: 1 },
      noon + 20,
    )
    expect(run).toHaveLength(1)
    for (const backMs of [1, 500, 20 * 60 * 1000, hourMs - 20]) {
      const nowMs = noon + 10 - backMs
      expect(await engine.runs.fireSchedules(nowMs, 10)).toEqual({ due: 0, created: [] })
      expect(await nextOf(task, nowMs)).toBe(noon + hourMs)
    }
  })

  test('a year ahead and back loses no later time', async () => {
    const { task } = await declareAt(startMs, hourly)
    const noon = (await nextOf(task, startMs))!
    expect((await engine.runs.fireSchedules(noon + yearMs, 10)).due).toBe(1)
    expect(await nextOf(task, noon)).toBeGreaterThan(noon + yearMs)
    await engine.runs.fireSchedules(noon + 100, 10)
    expect(await nextOf(task, noon)).toBe(noon + hourMs)
    expect((await engine.runs.fireSchedules(noon + hourMs, 10)).due).toBe(1)
  })

  test('a schedule that was declared, resumed or restored while it was a year ahead loses no later time', async () => {
    const ahead = startMs + yearMs
    const { tenant, task } = await declareAt(ahead, hourly)
    const { caller } = tenant
    const declare = (more: object, nowMs: number) => {
      const whole = { ...declared, ...hourly, ...more, keepsAuthorization: false, newSecret: newTaskSecret() }
      return engine.tasks.declare(caller, 'app', 'mail', whole, undefined, nowMs)
    }
    const goesOn = async (): Promise<void> => {
      expect(await nextOf(task, startMs)).toBeGreaterThan(ahead)
      await engine.runs.fireSchedules(startMs, 10)
      expect(await nextOf(task, startMs)).toBe((Math.floor(startMs / hourMs) + 1) * hourMs)
    }
    await goesOn()
    await declare({ paused: true }, ahead)
    await declare({}, ahead)
    await goesOn()
    await engine.tasks.delete(caller, 'app', 'mail', undefined, ahead)
    await engine.tasks.restore(caller, 'app', 'mail', undefined, ahead)
    await goesOn()
  })

  test('does not leave the next attempt, or the run of a schedule, a year ahead; a time that was asked for stays', async () => {
    const ahead = startMs + yearMs
    const { tenant, task, add } = await declareAt(startMs, hourly)
    const fired = async (nowMs: number) => (await engine.runs.fireSchedules(nowMs, 10)).created
    await add()
    const later = await add(2 * yearMs)
    const [run] = await engine.runs.claim(tenant.caller, task, { limit: 1, leaseMs: undefined }, startMs)
    // Its lease expires by the wrong clock, and a time of the schedule waits for it.
    expect(await engine.runs.expireLeases(ahead, 10)).toHaveLength(1)
    await fired(ahead)
    const [scheduled] = await engine.runs.claim(tenant.caller, task, { limit: 1, leaseMs: 1 }, ahead)
    await engine.runs.expireLeases(ahead + 1, 10)
    const timeOf = async (id: string) => (await engine.runs.get(task, id, startMs))!.runAtMs
    for (const { id } of [run!, scheduled!]) expect(await timeOf(id)).toBeGreaterThan(ahead)
    await engine.runs.expireLeases(startMs + 5, 10)
    for (const { id } of [run!, scheduled!]) expect(await timeOf(id)).toBe(startMs + 5)
    expect(await timeOf((later as { run: Run }).run.id)).toBe(startMs + 2 * yearMs)
    const claimed = await engine.runs.claim(tenant.caller, task, { limit: 9, leaseMs: undefined }, startMs + 5)
    expect(claimed.map(({ id }) => id)).toEqual([run!.id, scheduled!.id])
    await expectSound(engine)
  })

  test('many times that were missed create one run', async () => {
    const { task } = await declareAt(startMs, hourly)
    const fired = await engine.runs.fireSchedules(startMs + 30 * hourMs, 10)
    expect(fired.created).toHaveLength(1)
    expect(await engine.runs.fireSchedules(startMs + 30 * hourMs + 1, 10)).toEqual({ due: 0, created: [] })
    expect(await nextOf(task, startMs)).toBeGreaterThan(startMs + 30 * hourMs)
  })

  test('a lease from a time far ahead ends soon after the clock was set back', async () => {
    const { tenant, task, add } = await declareAt(startMs, {})
    await add()
    const [run] = await engine.runs.claim(tenant.caller, task, { limit: 1, leaseMs: undefined }, startMs + yearMs)
    expect(await engine.runs.expireLeases(startMs, 10)).toEqual([])
    expect((await engine.runs.get(task, run!.id, startMs))!.leaseUntilMs).toBe(startMs + 30_000)
    expect(await engine.runs.expireLeases(startMs + 30_000, 10)).toHaveLength(1)
  })
})

describe('damage', () => {
  test('a changed payload is noticed, is handed to nobody, and does not block the others', async () => {
    const bench = await makeBench(engine)
    const [bad, good] = [await bench.add({ payload: '{"n":1}' }), await bench.add({ payload: '{"n":2}' })]
    await change(`UPDATE runs SET payload = replace(payload, '1', '7') WHERE id = '${bad.id}'`)
    await expectRefusal((async () => engine.runs.get(bench.task, bad.id, Date.now()))(), 'store_damaged')
    expect(await findings()).toEqual([
      `run ${bad.id} (task ${bench.task.id}): it is not as it was written: its checksum does not match`,
    ])
    const claimed = await engine.runs.claim(
      bench.tenant.caller,
      bench.task,
      { limit: 9, leaseMs: undefined },
      Date.now(),
    )
    expect(claimed.map(({ id }) => id)).toEqual([good.id])
    expect(await engine.runs.dueAmong([bench.task.id], Date.now())).toEqual([])
  })

  test('a running run that is damaged does not hold back the one behind it for ever', async () => {
    const bench = await makeBench(engine, { leaseSeconds: 1 })
    const { id } = await bench.add({ key: 'k', payload: '{"n":1}' })
    expect(await bench.claim()).toHaveLength(1)
    const behind = await bench.add({ key: 'k', payload: '{"n":2}' })
    expect(behind.held).toBe(true)
    await change(`UPDATE runs SET payload = replace(payload, '1', '7') WHERE id = '${id}'`)
    const later = Date.now() + 2_000
    await engine.runs.expireLeases(later, 10)
    const claimed = await engine.runs.claim(bench.tenant.caller, bench.task, { limit: 9, leaseMs: undefined }, later)
    expect(claimed.map((run) => run.id)).toEqual([behind.id])
  })

  const wrongs: [string, (id: string) => string, string][] = [
    ['a lease', (id) => `UPDATE runs SET lease = 'x' WHERE id = '${id}'`, 'it is queued, with a lease'],
    ['an end', (id) => `UPDATE runs SET finished_at = 1 WHERE id = '${id}'`, 'it is queued, with a time of its end'],
    [
      'held',
      (id) => `UPDATE runs SET held = 1 WHERE id = '${id}'`,
      'it waits for a run of its key that is not running',
    ],
    ['no task', (id) => `UPDATE runs SET task_id = 999 WHERE id = '${id}'`, 'its task does not exist'],
  ]
  test.each(wrongs)('verify finds %s that cannot be', async (_, sql, finding) => {
    const bench = await makeBench(engine)
    const run = await bench.add()
    await expectSound(engine)
    await change(sql(run.id))
    expect((await findings()).some((line) => line.endsWith(finding))).toBe(true)
  })

  const wrongLeases: [string, string, (id: string, taskId: number) => string][] = [
    [
      'a lease that its organization does not have',
      'DELETE FROM leases',
      (id, taskId) => `run ${id} (task ${taskId}): its lease is not among those of its organization`,
    ],
    ['a lease of no run', 'INSERT INTO leases VALUES (1, 5, 999)', () => 'the entry of a lease belongs to no run: 999'],
    [
      'a task of another organization',
      'UPDATE tasks SET org_id = 77; UPDATE leases SET org_id = 77',
      (_, taskId) => `task ${taskId}: its declaration names another organization`,
    ],
  ]
  test.each(wrongLeases)('verify finds %s', async (_, sql, finding) => {
    const bench = await makeBench(engine)
    const { id } = await bench.add()
    await bench.claim()
    await expectSound(engine)
    await change(sql)
    expect(await findings()).toEqual([finding(id, bench.task.id)])
  })

  test('verify finds a task without a declaration', async () => {
    const bench = await makeBench(engine)
    await change('DELETE FROM tasks')
    expect(await findings()).toEqual([`task ${bench.task.id} has no declaration`])
  })
})

test('a deleted task is purged with its runs, in steps', async () => {
  const { tenant, task, add } = await declareAt(startMs, {})
  for (let i = 0; i < 7; i++) await add()
  await engine.tasks.delete(tenant.caller, 'app', 'mail', undefined, startMs)
  const later = startMs + recoveryMs + sweepGraceMs
  expect(await engine.maintenance.purgeTables(later - 1, 3)).toBe(0)
  let steps = 0
  while ((await engine.maintenance.purgeTables(later, 3)) > 0 && steps < 20) steps++
  expect(steps).toBe(3)
  expect(await engine.transfer.lastRunSeq()).toBe(0)
  expect(await engine.tasks.read([task], later)).toEqual([undefined])
  await expectSound(engine)
})

test('the sweep removes finished runs after their time and the grace period', async () => {
  const { tenant, task, add } = await declareAt(startMs, { keepSeconds: 60 })
  await add()
  const [run] = await engine.runs.claim(tenant.caller, task, { limit: 1, leaseMs: undefined }, startMs)
  await engine.runs.finish(tenant.caller, task, run!.id, { lease: run!.lease!, result: null }, startMs)
  const { updatedAtMs } = (await engine.runs.get(task, run!.id, startMs))!
  expect(await engine.runs.get(task, run!.id, startMs + 60_000)).toBeUndefined()
  expect(await engine.runs.sweepFinished(updatedAtMs + 60_000 + sweepGraceMs - 1, 10)).toBe(0)
  expect(await engine.transfer.lastRunSeq()).toBe(1)
  expect(await engine.runs.sweepFinished(updatedAtMs + 60_000 + sweepGraceMs, 10)).toBe(1)
  expect(await engine.transfer.lastRunSeq()).toBe(0)
})

describe('what one organization has due', () => {
  const large = JSON.stringify({ a: 'x'.repeat(390_000) })
  const declareMany = async (tenant: Tenant, count: number, schedule: Schedule | null, name = 't') => {
    const tasks: Table[] = []
    for (let i = 0; i < count; i++) {
      const more = { schedule, keepsAuthorization: false, newSecret: newTaskSecret() }
      const result = await engine.tasks.declare(
        ...([tenant.caller, 'app', `${name}${i}`, { ...declared, ...more }, undefined, startMs] as const),
      )
      if (!result.applied) throw new Error('not declared')
      tasks.push(result.task)
    }
    return tasks
  }

  test('is done in steps of few bytes, since all writes wait for a step: schedules', async () => {
    await declareMany(await makeTenant(engine), 5, { every: 1, payload: large })
    const created: number[] = []
    for (let left = true; left; ) {
      const fired = await engine.runs.fireSchedules(startMs + 2_000, 50)
      created.push(fired.created.length)
      left = fired.due === 50
    }
    expect(created).toEqual([2, 2, 1])
    // The times of all are set, and their declarations are whole.
    expect(await engine.runs.fireSchedules(startMs + 2_000, 50)).toEqual({ due: 0, created: [] })
    await expectSound(engine)
  })

  test('is done in steps of few bytes, since all writes wait for a step: leases', async () => {
    const { tenant, task } = await declareAt(startMs, {})
    for (let i = 0; i < 5; i++) {
      const run = { id: newRunId(), isNamed: false, key: null, payload: large, at: { delayMs: 0 } }
      await engine.runs.add(tenant.caller, task, run, startMs)
      await engine.runs.claim(tenant.caller, task, { limit: 1, leaseMs: 1_000 }, startMs)
    }
    const counts: number[] = []
    do counts.push((await engine.runs.expireLeases(startMs + 2_000, 50)).length)
    while (counts.at(-1)! > 0)
    expect(counts).toEqual([2, 2, 1, 0])
  })

  test('is not all done before the first of another one: schedules and leases', async () => {
    const [many, other] = [await makeTenant(engine), await makeTenant(engine, 'other')]
    const tasks = await declareMany(many, 6, { every: 1, payload: '{}' })
    const [last] = await declareMany(other, 1, { every: 1, payload: '{}' }, 'last')
    const fired = await engine.runs.fireSchedules(startMs + 2_000, 4)
    expect(fired.due).toBe(4)
    expect(fired.created.map(({ taskId }) => taskId)).toContain(last!.id)
    while ((await engine.runs.fireSchedules(startMs + 2_000, 50)).due > 0);
    for (const task of tasks) await engine.runs.claim(many.caller, task, { limit: 1, leaseMs: 1_000 }, startMs + 2_000)
    await engine.runs.claim(other.caller, last!, { limit: 1, leaseMs: 1_500 }, startMs + 2_000)
    const expired = await engine.runs.expireLeases(startMs + 9_000, 4)
    expect(expired.map(({ taskId }) => taskId)).toContain(last!.id)
  })

  test('is not all woken before the first of another one, after a clock was set back', async () => {
    const ahead = startMs + yearMs
    const [many, other] = [await makeTenant(engine), await makeTenant(engine, 'other')]
    const tasks = await declareMany(many, 12, { every: 1, payload: '{}' })
    const [last] = await declareMany(other, 1, { every: 1, payload: '{}' }, 'last')
    // Each schedule creates a run by the wrong clock.
    while ((await engine.runs.fireSchedules(ahead, 50)).due > 0);
    const woken = async (nowMs: number): Promise<number[]> => {
      await engine.runs.expireLeases(nowMs, 4)
      return engine.runs.dueAmong(
        [...tasks, last!].map(({ id }) => id),
        nowMs,
      )
    }
    const first = await woken(startMs)
    expect(first).toHaveLength(4)
    expect(first).toContain(last!.id)
    for (let i = 0; i < 3; i++) await woken(startMs)
    expect(await woken(startMs)).toHaveLength(13)
  })

  test('is not all swept before the finished runs of another one', async () => {
    const [many, other] = [await makeTenant(engine), await makeTenant(engine, 'other')]
    const [busy] = await declareMany(many, 1, null)
    const [last] = await declareMany(other, 1, null, 'last')
    const finish = async (tenant: Tenant, task: Table, count: number): Promise<Run> => {
      const run = () => ({ id: newRunId(), isNamed: false, key: null, payload: '{}', at: { delayMs: 0 } })
      await Promise.all(Array.from({ length: count }, () => engine.runs.add(tenant.caller, task, run(), startMs)))
      const claimed = await engine.runs.claim(tenant.caller, task, { limit: count, leaseMs: undefined }, startMs)
      for (const { id, lease } of claimed)
        await engine.runs.finish(tenant.caller, task, id, { lease: lease!, result: null }, startMs)
      return claimed[0]!
    }
    const { id } = await finish(other, last!, 1)
    const isThere = async () => (await engine.runs.get(last!, id, startMs)) !== undefined
    const later = startMs + yearMs
    let steps = 0
    // More runs of the first organization finish as fast as they are swept.
    for (; steps < 20 && (await isThere()); steps++) {
      await finish(many, busy!, 10)
      expect(await engine.runs.sweepFinished(later, 10)).toBeGreaterThan(0)
    }
    expect(steps).toBeLessThan(4)
  })

  // Claims are counted by the writer: see engine-sqlite-claims.test.ts.
  test('is not changed in one commit, for which the write of another would wait', async () => {
    const { tenant, task } = await declareAt(startMs, {})
    const run = { id: newRunId(), isNamed: false, key: null, payload: large, at: { delayMs: hourMs } }
    await engine.runs.add(tenant.caller, task, run, startMs)
    const other = await makeTenant(engine, 'other')
    let left = 60
    const flood = Array.from({ length: left }, () =>
      engine.runs.cancel(tenant.caller, task, run.id, startMs).then(() => left--),
    )
    await engine.tables.create(other.caller, 'app', 'table', {}, startMs)
    expect(left).toBeGreaterThan(10)
    await Promise.all(flood)
  })

  test('does not stop the thread that answers requests while it is looked through', async () => {
    const tenant = await makeTenant(engine)
    await declareMany(tenant, 1, null)
    // Tasks as they are stored, many at once, of twenty organizations.
    await change(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO tasks SELECT 1000 + i, declaration, updated_at, 1, keep_seconds, NULL, NULL, secrets, 1 + i % 20, NULL
        FROM n, tasks`)
    for (const look of [() => engine.runs.duePushes(startMs), () => engine.runs.sweepFinished(startMs + yearMs, 10)]) {
      let turns = 0
      const timer = setInterval(() => turns++, 1)
      await look()
      clearInterval(timer)
      expect(turns).toBeGreaterThan(2)
    }
  })
})

test('a store with tasks and runs is copied as it is', async () => {
  const bench = await makeBench(engine, { url: 'https://example.com/', concurrency: 2 })
  await bench.add({ key: 'k\0' })
  await engine.runs.claimPushes(bench.task, 1, Date.now())
  await bench.add({ key: 'k\0', payload: '{"é":"\\u0000"}' })
  const read = async (from: EmbeddedEngine) => {
    const dump = await from.transfer.openDump()
    try {
      const [tasks, runs] = [await Array.fromAsync(dump.tasks()), (await Array.fromAsync(dump.runs(0))).flat()]
      return { tables: await Array.fromAsync(dump.tables()), tasks, runs, count: await dump.countRuns() }
    } finally {
      await dump.close()
    }
  }
  const { tables, tasks, runs, count } = await read(engine)
  expect([tasks.length, runs.length, count]).toEqual([1, 2, 2])
  const otherDir = mkdtempSync(join(tmpdir(), 'cubby-tasks-'))
  const other = await openSqliteEngine({ dataDir: otherDir })
  try {
    const organizations = (await engine.organizations.list()).map((one) => ({ ...one, purging: false }))
    await other.transfer.load({ organizations, tables, tasks, runs })
    await other.transfer.load({ organizations, tables, tasks, runs })
    expect(await read(other)).toEqual({ tables, tasks, runs, count })
    expect(other.transfer.lastRunSeq()).toBe(2)
    await expectSound(other)
  } finally {
    await other.close()
    rmSync(otherDir, { recursive: true, force: true })
  }
})

test('looks and claims seek in the indexes of what waits, never in finished or future runs', () => {
  const { runsToSweep, allTasks, ...others } = statements
  const db = new Database(':memory:')
  db.run(makeSchema({ secret: '00'.repeat(32), archiveId: '', storeId: '' }))
  const planOf = (sql: string): string =>
    db
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join('; ')
  for (const [name, sql] of Object.entries(others)) {
    expect(`${name}: ${planOf(sql)}`).toMatch(
      /USING (COVERING )?INDEX (runs_due|runs_by_lease|runs_by_status|runs_by_id|tasks_by_next_run|tasks_by_org|tasks_pushing)|SEARCH (l|leases) USING PRIMARY KEY/,
    )
    expect(`${name}: ${planOf(sql)}`).not.toMatch(/SCAN runs|SCAN t$|SCAN tasks|TEMP B-TREE/)
  }
  expect(planOf(allTasks)).toBe('SEARCH tasks USING INTEGER PRIMARY KEY (rowid>?)')
  expect(planOf(runsToSweep)).toBe(
    'SEARCH runs USING COVERING INDEX runs_by_status (task_id=? AND status=? AND updated_at<?)',
  )
  db.close()
})

// An older version may be unable to read what a newer one stores: it knows fewer time zones.
test('a schedule that this process cannot tell the next time of keeps no other from its runs', async () => {
  const strange = await makeBench(engine, { schedule: { cron: '0 0 1 1 *', timezone: 'Europe/Berlin', payload: '{}' } })
  const { tenant } = strange
  const plain = await makeBench(engine, { schedule: { every: 31_536_000, payload: '{}' } }, { tenant, name: 'plain' })
  await change(
    `UPDATE tasks SET next_run_at = 1, declaration = replace(declaration, 'Europe/Berlin', 'Europe/Atlantis')`,
  )
  const [first, second] = [
    await engine.runs.fireSchedules(Date.now(), 10),
    await engine.runs.fireSchedules(Date.now(), 10),
  ]
  expect(first).toMatchObject({ unknown: 1, created: [{ taskId: plain.task.id }] })
  expect(second).toMatchObject({ unknown: 1, created: [] })
})
