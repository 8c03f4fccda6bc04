import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { temporaryDirectory } from '../cleanup.ts'
import type { TasksResult } from '../results.ts'
import { callCubby, createOrganization, serveCubby } from '../subjects/cubby.ts'
import { CubbyDialect, table, tableIndices } from '../subjects/cubby-dialect.ts'
import { processTree, watchUsage } from '../subjects/process-usage.ts'
import type { ServerProcess } from '../subjects/server-process.ts'
import { HttpSubject } from '../subjects/subject.ts'
import { shapeOf } from '../workload.ts'
import type { Context } from './context.ts'

const task = '/v1/bench/_tasks/mail'
/** A little more than the bar, so that the workers are the ones who wait. */
const runsPerSecondWanted = 1_100
const claimers = 24
const claimRuns = 10
const idleTasks = 1_000

/** Claims and finishes until the end, at most `runsPerSecondWanted`. Returns the runs finished per second. */
const work = async ({ port }: ServerProcess, apiKey: string, endMs: number): Promise<number> => {
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' }
  const post = async (path: string, body: unknown): Promise<Response> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`tasks: ${path}: ${response.status} ${await response.text()}`)
    return response
  }
  const startedMs = performance.now()
  let done = 0
  const claim = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const aheadMs = (done / runsPerSecondWanted) * 1000 - (performance.now() - startedMs)
      if (aheadMs > 0) await Bun.sleep(aheadMs)
      const claimed = await post(`${task}/claim`, { limit: claimRuns })
      const { runs } = (await claimed.json()) as { runs: { id: string; lease: string }[] }
      if (runs.length === 0) throw new Error('tasks: there are no runs left to claim')
      await Promise.all(
        runs.map(async ({ id, lease }) => {
          await (await post(`${task}/runs/${id}/finish`, { lease, result: { sent: true } })).arrayBuffer()
          done++
        }),
      )
    }
  }
  await Promise.all(Array.from({ length: claimers }, claim))
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
  const result: TasksResult = { runsPerSecond: [], putsPerSecond: [], putsBesidePerSecond: [], ...idleNothing }
  const subject = new HttpSubject('cubby', server, new CubbyDialect(apiKey), shapeOf(10_000), load)
  await subject.measure('put', warmSeconds)
  for (let round = 0; round < rounds; round++) {
    result.putsPerSecond.push((await subject.measure('put', seconds)).requestsPerSecond)
    await addRuns(server, apiKey, runsPerSecondWanted * (seconds + 1) + claimers * claimRuns * 2)
    const [beside, runs] = await Promise.all([
      subject.measure('put', seconds),
      work(server, apiKey, performance.now() + seconds * 1000),
    ])
    result.putsBesidePerSecond.push(beside.requestsPerSecond)
    result.runsPerSecond.push(runs)
    say(`tasks: ${runs.toFixed(0)} runs/s beside ${beside.requestsPerSecond.toFixed(0)} puts/s`)
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
