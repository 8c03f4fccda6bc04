import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { temporaryDirectory } from '../cleanup.ts'
import { RawClient } from '../load/raw-client.ts'
import type { TasksBeside, TasksResult } from '../results.ts'
import { callCubby, createOrganization, serveCubby } from '../subjects/cubby.ts'
import { CubbyDialect, table, tableIndices } from '../subjects/cubby-dialect.ts'
import { processTree, watchUsage } from '../subjects/process-usage.ts'
import type { ServerProcess } from '../subjects/server-process.ts'
import { HttpSubject } from '../subjects/subject.ts'
import { shapeOf } from '../workload.ts'
import type { Context } from './context.ts'

const task = '/v1/bench/_tasks/mail'
/** The bar, and a little more. */
const runsPerSecondWanted = 1_020
const claimers = 8
const claimRuns = 10
const idleTasks = 1_000

/** The ways in which a worker finishes the runs of a claim: each in a request of its own, or all in one batch. */
type Finishing = 'each' | 'together'

interface ClaimedRun {
  id: string
  lease: string
}

/** Claims and finishes until the end. Returns the runs finished per second. */
const work = async ({ port }: ServerProcess, apiKey: string, finishing: Finishing, endMs: number): Promise<number> => {
  const client = new RawClient(port, apiKey)
  const startedMs = performance.now()
  let begun = 0
  let done = 0
  const result = { sent: true }
  const finish = async ({ id, lease }: ClaimedRun): Promise<void> => {
    await client.post(`${task}/runs/${id}/finish`, JSON.stringify({ lease, result }))
    done++
  }
  const finishTogether = async (runs: ClaimedRun[]): Promise<void> => {
    const operations = runs.map(({ id, lease }) => ({ op: 'finish', run: id, lease, result }))
    await client.post(`${task}/batch`, JSON.stringify({ operations }))
    done += runs.length
  }
  const claim = async (): Promise<void> => {
    for (;;) {
      const dueMs = startedMs + (begun / runsPerSecondWanted) * 1000
      begun += claimRuns
      if (dueMs >= endMs) return
      await Bun.sleep(Math.max(0, dueMs - performance.now()))
      if (performance.now() >= endMs) return
      const { runs } = JSON.parse(await client.post(`${task}/claim`, JSON.stringify({ limit: claimRuns })))
      if (runs.length === 0) throw new Error('tasks: there are no runs left to claim')
      await (finishing === 'each' ? Promise.all(runs.map(finish)) : finishTogether(runs))
    }
  }
  await Promise.all(Array.from({ length: claimers }, claim))
  client.close()
  return (done / (performance.now() - startedMs)) * 1000
}

const addRuns = async (server: ServerProcess, apiKey: string, count: number): Promise<void> => {
  const operations = Array.from({ length: 25 }, (_, i) => ({
    op: 'run',
    payload: { to: `user-${i}@example.com`, template: 'welcome' },
  }))
  let left = Math.ceil(count / 25)
  const add = async (): Promise<void> => {
    while (left-- > 0) await callCubby(server, apiKey, 'POST', `${task}/batch`, { operations })
  }
  await Promise.all(Array.from({ length: 8 }, add))
}

/** Work beside writers at full speed; and the cost of a server that has many tasks and nothing to do. */
export const runTasks = async ({ settings, say }: Context): Promise<TasksResult> => {
  const { rounds, seconds, warmSeconds, load } = settings
  const dir = join(temporaryDirectory(), 'tasks-store')
  const location = ['--data', dir]
  const apiKey = await createOrganization(location)
  let server = await serveCubby(location)
  await callCubby(server, apiKey, 'POST', table, { indices: tableIndices })
  await callCubby(server, apiKey, 'PUT', task, {})
  const nothingBeside = (): TasksBeside => ({ runsPerSecond: [], putsPerSecond: [] })
  const result: TasksResult = { putsPerSecond: [], each: nothingBeside(), together: nothingBeside(), ...idleNothing }
  const subject = new HttpSubject('cubby', server, new CubbyDialect(apiKey), shapeOf(10_000), load)
  await subject.measure('put', warmSeconds)
  for (let round = 0; round < rounds; round++) {
    result.putsPerSecond.push((await subject.measure('put', seconds)).requestsPerSecond)
    for (const finishing of ['each', 'together'] as const) {
      await addRuns(server, apiKey, runsPerSecondWanted * (seconds + 1) + claimers * claimRuns * 2)
      const [beside, runs] = await Promise.all([
        subject.measure('put', seconds),
        work(server, apiKey, finishing, performance.now() + seconds * 1000),
      ])
      result[finishing].putsPerSecond.push(beside.requestsPerSecond)
      result[finishing].runsPerSecond.push(runs)
      say(
        `tasks: ${runs.toFixed(0)} runs/s, finished ${finishing}, beside ${beside.requestsPerSecond.toFixed(0)} puts/s`,
      )
    }
  }
  await subject.close()

  server = await serveCubby(location)
  for (let i = 0; i < idleTasks; i++) {
    // Half of them would push, to a name that does not exist, and some have a schedule that is far away.
    const url = i % 2 === 0 ? { url: 'https://hooks.example.invalid/run' } : {}
    const schedule = i % 10 === 0 ? { schedule: { cron: '0 0 1 1 *' } } : {}
    await callCubby(server, apiKey, 'PUT', `/v1/bench/_tasks/idle-${i}`, { ...url, ...schedule })
  }
  await server.stop()
  finishRuns(join(dir, 'cubby.db'), settings.taskRuns)
  server = await serveCubby(location)
  await Bun.sleep(2_000)
  const usage = watchUsage(() => processTree(server.pid))
  await Bun.sleep(Math.max(10, seconds) * 1000)
  const idleCores = usage.stop().cpuCores
  await server.stop()
  say(`tasks: idle ${idleCores === undefined ? '' : (idleCores * 100).toFixed(2)} % of a core`)
  return { ...result, idleCores, idleTasks, idleRuns: settings.taskRuns }
}

const idleNothing = { idleCores: undefined, idleTasks: 0, idleRuns: 0 }

/** Rows of finished runs, written straight into the closed store: a server would take minutes. Nobody reads them. */
const finishRuns = (file: string, count: number): void => {
  const db = new Database(file)
  db.run('PRAGMA journal_mode = WAL')
  db.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
     INSERT INTO runs (task_id, id, status, run_at, attempt, held, created_at, updated_at, finished_at, payload)
     SELECT t.id, 'done-' || i, 'succeeded', ?2, 1, 0, ?2, ?2 + i, ?2, '{"to":"user@example.com","template":"welcome"}'
     FROM n JOIN tables t ON t.kind = 'task' AND t.name = 'idle-' || (i % ${idleTasks})`,
    [count, Date.now() - 60_000],
  )
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}
