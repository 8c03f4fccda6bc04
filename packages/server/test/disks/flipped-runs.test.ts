import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { CubbyError } from '../../src/core/errors.ts'
import { sweepGraceMs } from '../../src/core/limits.ts'
import { resumeScan, type TimeScan } from '../../src/core/records/scan.ts'
import { type Run, runStatuses } from '../../src/core/tasks/run.ts'
import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'
import { timeScan } from '../conformance/fixture.ts'
import { makeBench } from '../conformance/runs.ts'
import { eventually, type Json, makeTempDir, removeTempDir, startServer } from '../harness.ts'
import { ok, refused } from '../http/service.ts'
import { Random, testSeed } from '../model/random.ts'
import { copyStore, flipBit } from './flip-bit.ts'

// A changed bit in the row of a run would change when it is due, who holds it or how it ended, or make it vanish, if the
// checksum covered its texts only.

setDefaultTimeout(120_000)

const flips = Number(process.env.CUBBY_TEST_FLIPS ?? 60)
const pageBytes = 4_096

let top = ''
beforeAll(() => {
  top = makeTempDir()
})
afterAll(() => removeTempDir(top))

/** Another value for each column, as SQL. It goes around the checksum, and keeps the indexes in agreement with the row. */
const changes: Record<string, string> = {
  seq: 'seq + 1000',
  task_id: 'task_id + 1',
  id: `id || 'x'`,
  status: `CASE status WHEN 'succeeded' THEN 'failed' ELSE 'succeeded' END`,
  key: `CAST('other' AS BLOB)`,
  run_at: 'run_at - 65536',
  attempt: 'attempt + 2',
  held: '1 - held',
  lease: `'another'`,
  lease_until: '5',
  done_lease: `'another'`,
  created_at: 'created_at - 256',
  updated_at: 'updated_at + 1',
  finished_at: '0',
  error_code: `'timeout'`,
  error_message: `'another'`,
  progress: `'{"another":1}'`,
  payload: `replace(payload, 'a', 'b')`,
  result: `CASE WHEN result IS NULL THEN '{}' END`,
}

test('another value in any column of a run is 500 store_damaged for every request that reads it, and verify finds it', async () => {
  const server = await startServer()
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    // The ids of tasks follow each other, so that a changed one is that of another task.
    for (const task of ['done', 'other', 'waits']) ok(await api.put(`/v1/app/_tasks/${task}`, {}), 201)
    const columns = Object.keys(changes)
    for (const id of columns) ok(await api.post('/v1/app/_tasks/done/run', { id, payload: { a: id } }), 201)
    const { runs } = ok(await api.post('/v1/app/_tasks/done/claim', { limit: 100 }))
    expect(runs).toHaveLength(columns.length)
    for (const { id, lease } of runs as Json[]) {
      ok(await api.post(`/v1/app/_tasks/done/runs/${id}/finish`, { lease, result: { of: id } }))
    }
    for (const id of [...columns, 'sound']) {
      ok(await api.post('/v1/app/_tasks/waits/run', { id, payload: { a: id } }), 201)
    }
    await server.end('SIGTERM')
    const db = new Database(join(server.dataDir, 'cubby.db'))
    db.run('PRAGMA ignore_check_constraints = ON')
    for (const [column, value] of Object.entries(changes)) {
      db.run(`UPDATE runs SET ${column} = ${value} WHERE id = '${column}'`)
    }
    db.close()
    await server.start()

    const refusedBy: Record<string, string> = { id: 'idx' }
    for (const column of columns.filter((name) => name !== 'task_id')) {
      const path = `/v1/app/_tasks/done/runs/${refusedBy[column] ?? column}`
      const [get, cancel, retry, finish] = [
        await api.get(path),
        await api.post(`${path}/cancel`),
        await api.post(`${path}/retry`),
        await api.post(`${path}/finish`, { lease: 'x'.repeat(22) }),
      ]
      for (const answer of [get, cancel, retry, finish]) {
        expect([column, answer.status, answer.body.error?.code]).toEqual([column, 500, 'store_damaged'])
      }
    }
    refused(await api.get('/v1/app/_tasks/other/runs/task_id'), 500, 'store_damaged')
    refused(await api.post('/v1/app/_tasks/done/query', {}), 500, 'store_damaged')
    refused(await api.post('/v1/app/_tasks/done/query', { status: 'succeeded' }), 500, 'store_damaged')
    const { exitCode, stdout } = await server.cubby('verify')
    expect(exitCode).toBe(1)
    for (const column of columns) {
      const id = refusedBy[column] ?? column
      const lines = stdout.split('\n').filter((line) => line.includes(`run ${id} (`) && line.includes('its checksum'))
      expect([column, lines.length]).toEqual([column, 2])
    }

    // A damaged run is handed to nobody, and is in nobody's way.
    const claimed = ok(await api.post('/v1/app/_tasks/waits/claim', { limit: 100 }))
    expect((claimed.runs as Json[]).map(({ id }) => id)).toEqual(['sound'])
    expect(ok(await api.post('/v1/app/_tasks/waits/claim', { limit: 100 })).runs).toEqual([])
    for (const column of columns.filter((name) => name !== 'task_id')) {
      refused(await api.get(`/v1/app/_tasks/waits/runs/${refusedBy[column] ?? column}`), 500, 'store_damaged')
    }
  } finally {
    await server.stop()
  }
})

// ── Single bits ────────────────────────────────────────────────────────────────────────────────────────────

/** Runs in every state, in a file without unused pages. */
const writeRuns = async (): Promise<{ file: string; task: Table; runs: Run[] }> => {
  const engine = await openSqliteEngine({ dataDir: join(top, 'sound') })
  const bench = await makeBench(engine, { attempts: 1 })
  for (const how of ['succeed', 'fail', 'cancel', 'extend', 'wait']) {
    for (let i = 0; i < 12; i++) {
      const key = i % 3 === 0 ? `${how} ${i}` : null
      const payload = JSON.stringify({ how, i, text: i % 6 === 0 ? 'y'.repeat(5_000) : 'é'.repeat(i) })
      const run = await bench.add({ payload, key })
      if (how === 'wait') continue
      const [claimed] = await bench.claim(1, 3_600_000)
      expect(claimed!.id).toBe(run.id)
      if (how === 'succeed') await bench.finish(claimed!, { result: `{"done":${i}}` })
      if (how === 'fail') await bench.finish(claimed!, { error: `not ${i}` })
      if (how === 'cancel') await bench.cancel(claimed!)
      if (how === 'extend') await bench.extend(claimed!, 3_600_000, `{"at":${i}}`)
      // One that waits behind it.
      if (how === 'extend' && key !== null) await bench.add({ payload, key })
    }
  }
  const runs: Run[] = []
  const dump = await engine.transfer.openDump()
  for await (const chunk of dump.runs(0)) runs.push(...chunk)
  await dump.close()
  await engine.close()
  const file = join(top, 'cubby.db')
  const db = new Database(join(top, 'sound', 'cubby.db'))
  db.run(`VACUUM INTO '${file}'`)
  db.close()
  return { file, task: bench.task, runs }
}

/** Undefined if it throws that the store is damaged. It may throw nothing else. */
const orDamaged = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await read()
  } catch (error) {
    if (error instanceof CubbyError && error.code === 'store_damaged') return undefined
    throw error
  }
}

const newestFirst = (runs: Run[]): Run[] => runs.toSorted((a, b) => b.updatedAtMs - a.updatedAtMs || b.seq - a.seq)

/** Reads everything in every way. Returns how many reads reported damage; throws if one returned something wrong. */
const readEverything = async (engine: Engine, task: Table, runs: Run[], nowMs: number): Promise<number> => {
  let refusedReads = 0
  const compare = async <T>(what: string, read: () => Promise<T>, expected: T): Promise<void> => {
    const outcome = await orDamaged(async () => ({ value: await read() }))
    if (outcome === undefined) refusedReads++
    else expect<[string, unknown]>([what, outcome.value]).toEqual([what, expected])
  }
  for (const run of runs) await compare(`get ${run.id}`, async () => engine.runs.get(task, run.id, nowMs), run)
  for (const status of [undefined, ...runStatuses]) {
    const some = newestFirst(runs.filter((run) => status === undefined || run.status === status))
    const scan: TimeScan = timeScan(undefined, true)
    const list = async (): Promise<Run[]> => {
      const all: Run[] = []
      for (let rest = scan; ; ) {
        const page = await engine.runs.scan(task, status, rest, 7, nowMs)
        all.push(...page.runs)
        if (page.next === undefined || all.length > 1_000) return all
        rest = resumeScan(scan, page.next) as TimeScan
      }
    }
    const count = async (): Promise<number> => {
      let total = 0
      for (let rest = scan; ; ) {
        const page = await engine.runs.count(task, status, rest, 7, nowMs)
        total += page.count
        if (page.next === undefined || total > 1_000) return total
        rest = resumeScan(scan, page.next) as TimeScan
      }
    }
    await compare(`list ${status}`, list, some)
    await compare(`count ${status}`, count, some.length)
  }
  return refusedReads
}

test('a single changed bit in the pages of runs never changes an answer; the check finds every bit that makes a request fail', async () => {
  const seed = testSeed()
  console.log(`flipped runs: CUBBY_TEST_SEED=${seed} CUBBY_TEST_FLIPS=${flips}`)
  const random = new Random(seed)
  const { file, task, runs } = await writeRuns()
  for (const status of runStatuses) expect([status, runs.some((run) => run.status === status)]).toEqual([status, true])
  expect(runs.some(({ held }) => held)).toBe(true)
  const nowMs = Date.now()
  const db = new Database(file, { readonly: true })
  const pages = db
    .query<{ pageno: number }, []>(`SELECT pageno FROM dbstat WHERE name = 'runs'`)
    .all()
    .map(({ pageno }) => pageno)
  db.close()
  let [noticed, blocked, due] = [0, 0, 0]
  for (let i = 0; i <= flips; i++) {
    const [page, at, bit] = [random.pick(pages), random.int(0, pageBytes - 1), random.int(0, 7)]
    const where = `CUBBY_TEST_SEED=${seed}: ${i === 0 ? 'no bit' : `bit ${bit} of byte ${at} of page ${page}`}`
    const dataDir = copyStore(top, file, (handle) => i > 0 && flipBit(handle, (page - 1) * pageBytes + at, bit))
    const engine = await openSqliteEngine({ dataDir })
    try {
      const refusedReads = await readEverything(engine, task, runs, nowMs)
      const findings = await Array.fromAsync(engine.maintenance.check())
      if (i === 0) expect([refusedReads, findings]).toEqual([0, []])
      if (refusedReads > 0) noticed++
      expect([where, refusedReads > 0 && findings.length === 0]).toEqual([where, false])
      // The sweep removes no run before its time.
      const swept = await orDamaged(() => engine.runs.sweepFinished(nowMs, 1_000))
      expect([where, swept ?? 0]).toEqual([where, 0])
      const laterMs = nowMs + 4_000_000
      await orDamaged(() => engine.runs.expireLeases(laterMs, 100))
      const caller = { orgId: task.orgId, apiKey: undefined }
      const claimed =
        (await orDamaged(() => engine.runs.claim(caller, task, { limit: 100, leaseMs: undefined }, laterMs))) ?? []
      for (const { id, payload } of claimed) {
        expect([where, payload]).toEqual([where, runs.find((run) => run.id === id)!.payload])
      }
      if (i === 0) due = claimed.length
      // One damaged row keeps nobody from the other runs. The page around the rows hides several.
      else if (claimed.length < due - 1) blocked++
    } catch (error) {
      ;(error as Error).message = `${where}: ${(error as Error).message}`
      throw error
    } finally {
      await engine.close()
    }
    removeTempDir(dataDir)
  }
  console.log(`flipped runs: ${noticed} of ${flips} were noticed, ${blocked} of them kept a claim from other runs`)
  expect(due).toBeGreaterThan(8)
  expect(blocked).toBeLessThan(flips / 4)
  expect(noticed).toBeGreaterThan(flips / 10)
})

test('the sweep leaves a finished run that is damaged where it is, and removes the others', async () => {
  const dataDir = join(top, 'swept')
  let engine = await openSqliteEngine({ dataDir })
  const bench = await makeBench(engine, { keepSeconds: 60 })
  const added = [await bench.add(), await bench.add(), await bench.add()]
  for (const run of await bench.claim(3)) await bench.finish(run)
  await engine.close()
  const db = new Database(join(dataDir, 'cubby.db'))
  db.run(`UPDATE runs SET attempt = 9 WHERE id = '${added[1]!.id}'`)
  db.close()
  engine = await openSqliteEngine({ dataDir })
  try {
    const later = Date.now() + 60_000 + sweepGraceMs + 1_000
    expect(await engine.runs.sweepFinished(later, 10)).toBe(2)
    expect(await engine.runs.sweepFinished(later, 10)).toBe(0)
    const [finding] = await Array.fromAsync(engine.maintenance.check())
    expect(finding).toContain(`run ${added[1]!.id} `)
  } finally {
    await engine.close()
  }
})

/** Flips a bit in the first page of a table or index. `find`: where, in the page. */
const flipIn = (dataDir: string, name: string, find: (page: Buffer) => number, bit = 2): void => {
  const file = join(dataDir, 'cubby.db')
  const db = new Database(file)
  const { rootpage } = db
    .query<{ rootpage: number }, [string]>('SELECT rootpage FROM sqlite_schema WHERE name = ?1')
    .get(name)!
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const handle = openSync(file, 'r+')
  const page = Buffer.alloc(pageBytes)
  readSync(handle, page, 0, pageBytes, (rootpage - 1) * pageBytes)
  page[find(page)]! ^= bit
  writeSync(handle, page, 0, pageBytes, (rootpage - 1) * pageBytes)
  closeSync(handle)
}

test.each([
  ['when it is due', 8 + 5],
  ['its status', 3],
  ['its head', -10],
])(
  'a flipped bit in the row of a queued run, with its index entries as they were, holds up no other run: %s',
  async (_, offset) => {
    const server = await startServer()
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      const task = '/v1/app/_tasks/mail'
      ok(await api.put(task, {}), 201)
      for (const id of ['r1', 'r2', 'r3']) ok(await api.post(`${task}/run`, { id, payload: { id } }), 201)
      await server.end('SIGTERM')
      flipIn(server.dataDir, 'runs', (page) => page.indexOf('r2queued') + offset)
      await server.start()
      const claimed: string[] = []
      let refusals = 0
      for (let i = 0; i < 4; i++) {
        const { status, body } = await api.post(`${task}/claim`, { limit: 1 })
        if (status === 500) refusals++
        claimed.push(...((body.runs ?? []) as Json[]).map(({ id }) => id))
      }
      // SQLite ends the transaction that meets a row whose head is damaged; the next one passes it over. The scheduler looks at
      // due runs too: if its transaction meets the row first, no claim is refused.
      expect(claimed).toEqual(['r1', 'r3'])
      expect(refusals).toBeLessThanOrEqual(offset < 0 ? 1 : 0)
      expect((await server.cubby('verify')).exitCode).toBe(1)
    } finally {
      await server.stop()
    }
  },
)

test('a flipped bit in an index of runs stops neither the leases of other organizations nor its own', async () => {
  const server = await startServer({ clock: true })
  try {
    const task = '/v1/app/_tasks/mail'
    const apis = await Promise.all(
      ['one', 'two'].map(async (name) => server.as((await server.createOrganization(name)).secretKey)),
    )
    for (const api of apis) {
      ok(await api.put(task, { leaseSeconds: 60, attempts: 5 }), 201)
      ok(await api.post(`${task}/run`, { key: 'a-long-key', payload: {} }), 201)
      expect(ok(await api.post(`${task}/claim`, {})).runs).toHaveLength(1)
    }
    await server.end('SIGTERM')
    flipIn(server.dataDir, 'runs_by_running_key', (page) => page.indexOf('a-long-key') + 3)
    server.setClock(300_000)
    await server.start()
    for (const api of apis) {
      await eventually('the run to be handed out again', async () => {
        const { runs } = ok(await api.post(`${task}/claim`, {}))
        return (runs as Json[]).length === 1 ? true : undefined
      })
    }
    expect((await server.request('GET', '/readyz')).status).toBe(200)
  } finally {
    await server.stop()
  }
})

// A page that leads back to rows that were read before must not keep a check from ending.
test.each([
  ['runs', 100],
  ['records', 100],
] as const)('verify ends, and tells, with a damaged inner page of %s', async (name, count) => {
  const server = await startServer()
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    ok(await api.put('/v1/app/_tasks/mail', {}), 201)
    ok(await api.post('/v1/app/notes', {}), 201)
    for (let i = 0; i < count; i++) {
      ok(await api.post('/v1/app/_tasks/mail/run', { id: `r${i}`, payload: {} }), 201)
      ok(await api.put('/v1/app/notes', { hashKey: `k${i}`, data: {} }))
    }
    await server.end('SIGTERM')
    // The last byte is the key of the first of two children: all rows are looked for there now.
    flipIn(server.dataDir, name, () => pageBytes - 1, 0x80)
    const { exitCode, stdout } = await server.cubby('verify')
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('are not in order') })
  } finally {
    await server.stop()
  }
})
