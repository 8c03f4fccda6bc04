import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { oneProcess, type Stage, twoProcesses, twoWorkers } from '../changes/history-stage.ts'
import { type Api, eventually, type Json, storeIsEmbedded } from '../harness.ts'
import { ok } from '../http/service.ts'
import { Random, testSeed } from '../model/random.ts'
import { type SharedPostgres, sharedPostgres } from '../postgres-server.ts'
import { FollowedLedger, nameOf, SharedLedger } from './followed-ledger.ts'
import { besidePath, doneHash, FollowedWriter, FollowingWorker, followedPath, sharedHash } from './followed-writers.ts'

// Processes are killed while followed tables are written in every way and workers finish runs. Without what is shown here a search
// index would miss a write for good, or work would be done for a write that never was.

const rounds = Number(process.env.CUBBY_TEST_FOLLOW_ROUNDS ?? 3)
const [writerCount, workerCount] = [8, 2]
/** A round writes for this long before the kill, at most. */
const writesMsMax = 500

setDefaultTimeout(90_000 + rounds * 15_000)

const readAll = async (api: Api, path: string, request: object): Promise<Json[]> => {
  const all: Json[] = []
  let cursor: string | null = null
  do {
    const page: Json = ok(await api.post(path, { ...request, limit: 1_000, cursor }))
    all.push(...page.items)
    cursor = page.cursor
  } while (cursor !== null)
  return all
}

interface Found {
  mark: string
  updatedAt: number
}

const readRecords = async (api: Api): Promise<Map<string, Found>> => {
  const found = new Map<string, Found>()
  for (const table of ['followed', 'beside']) {
    for (const item of await readAll(api, `/v1/app/${table}/query`, { index: 't' })) {
      found.set(nameOf(table, item), { mark: item.data.mark, updatedAt: item.updatedAt })
    }
  }
  return found
}

const tasks = { index: 'followed', archive: 'followed', mirror: 'beside' }
type Task = keyof typeof tasks

/** The runs of a task by record. A run that changes meanwhile, because its lease ends, is read again. */
const readRuns = async (api: Api, task: Task): Promise<Map<string, Json[]>> => {
  const runs = await readAll(api, `/v1/app/_tasks/${task}/query`, { ascending: true })
  const newest = new Map(runs.map((run): [string, Json] => [run.id, run]))
  return Map.groupBy(newest.values(), ({ key }) => `${tasks[task]} ${key}`)
}

class Following {
  readonly stage: Stage
  readonly own = new FollowedLedger()
  readonly shared = new SharedLedger()
  readonly writers: FollowedWriter[]
  readonly workers: FollowingWorker[]
  runCount = 0
  /** Versions of shared records that runs tell and no response told. */
  readonly untold = new Set<string>()

  constructor(stage: Stage, seed: number) {
    this.stage = stage
    this.writers = Array.from({ length: writerCount }, (_, i) => new FollowedWriter(i, stage, this, seed + i))
    this.workers = Array.from({ length: workerCount }, (_, i) => new FollowingWorker(stage, this, seed + 100 + i))
  }

  async declare(): Promise<void> {
    const api = await this.stage.api()
    for (const path of [followedPath, besidePath]) ok(await api.post(path), 201)
    for (const [task, table] of Object.entries(tasks)) {
      const more = { leaseSeconds: 1, attempts: 50, backoffSeconds: 1, paused: task !== 'index' }
      ok(await api.put(`/v1/app/_tasks/${task}`, { on: { table }, ...more }), 201)
    }
  }

  /** What is wrong with the runs of a task. Nobody writes meanwhile. */
  #faultsOf(task: Task, found: Map<string, Found>, runs: Map<string, Json[]>): string[] {
    const faults: string[] = []
    const { own, shared } = this
    for (const [name, ofRecord] of runs) {
      const fault = (what: string, run: Json) =>
        faults.push(`${task}, ${name}: ${what}: ${run.status} ${JSON.stringify(run.payload)}`)
      this.runCount += ofRecord.length
      const queued = ofRecord.filter(({ status }) => status === 'queued')
      if (queued.length > 1) fault('two are queued', queued[1])
      const { hashKey } = ofRecord[0].payload
      for (const run of ofRecord) {
        const version = run.payload.updatedAt
        if (hashKey === doneHash) {
          if (task === 'index') fault('the task has finished a run in that batch', run)
          else if (found.get(name)?.updatedAt !== version) fault('there is no such record', run)
        } else if (hashKey === sharedHash) {
          if (!shared.has(name, version)) this.untold.add(`${name} ${version}`)
          if (run.status === 'queued' && version !== found.get(name)?.updatedAt) fault('a newer write', run)
        } else if (!own.isApplied(name, run.payload)) fault('no such write was applied', run)
        else if (run.status === 'queued' && !own.isNewest(name, run.payload)) fault('there was a newer write', run)
      }
    }
    const missing = (name: string, isOf: (payload: Json) => boolean) => {
      if (!(runs.get(name) ?? []).some(({ payload }) => isOf(payload))) faults.push(`${task}, ${name}: it has no run`)
    }
    for (const name of own.names) {
      if (name.startsWith(`${tasks[task]} `) && own.isWritten(name)) missing(name, (run) => own.isNewest(name, run))
    }
    const isShared = (name: string) => name.startsWith(`followed ["${sharedHash}"`)
    const isDone = (name: string) => name.startsWith(`followed ["${doneHash}"`)
    for (const [name, { updatedAt }] of found) {
      if (tasks[task] !== 'followed' || !(isShared(name) || (isDone(name) && task !== 'index'))) continue
      missing(name, (run) => run.updatedAt === updatedAt)
    }
    return faults
  }

  /** Everything that a restart finds must be one state: each write that was applied, with its runs. */
  async check(): Promise<void> {
    const api = await this.stage.api()
    const found = await readRecords(api)
    const faults = this.own.settle(found)
    for (const [name, { updatedAt }] of found) {
      if (name.startsWith(`followed ["${sharedHash}"`)) this.shared.note(name, updatedAt)
    }
    this.runCount = 0
    for (const task of Object.keys(tasks) as Task[]) {
      const runs = await readRuns(api, task)
      faults.push(...this.#faultsOf(task, found, runs))
      if (task !== 'index') continue
      const byBatch = [...runs.values()].flat().filter(({ result }) => result?.by === 'batch')
      const done = [...found.keys()].filter((name) => name.startsWith(`followed ["${doneHash}"`))
      expect(byBatch.map(({ id }) => nameOf('followed', { hashKey: doneHash!, rangeKey: id })).toSorted()).toEqual(
        done.toSorted(),
      )
    }
    for (const { payload, own, shared } of this.workers.flatMap(({ claimed }) => claimed)) {
      const name = nameOf(payload.table, payload)
      const isNew =
        payload.hashKey === sharedHash
          ? payload.updatedAt >= (shared.get(name) ?? 0)
          : this.own.isApplied(name, payload, own.get(name))
      if (!isNew) faults.push(`${name}: it was claimed after a newer write: ${JSON.stringify(payload)}`)
    }
    for (const worker of this.workers) worker.claimed = []
    expect(faults.slice(0, 10)).toEqual([])
    expect(this.untold.size).toBeLessThanOrEqual(this.shared.unknown)
  }
}

/** Nothing keeps a run from being claimed for good. */
const finishAll = async (api: Api): Promise<void> => {
  const countOf = async (status: string): Promise<number> =>
    ok(await api.post('/v1/app/_tasks/index/query', { status, select: 'count' })).count
  const claim = '/v1/app/_tasks/index/claim'
  await eventually('every run is claimed and finished', async () => {
    for (const { id, lease } of ok(await api.post(claim, { limit: 100, leaseSeconds: 60 })).runs) {
      ok(await api.post(`/v1/app/_tasks/index/runs/${id}/finish`, { lease }))
    }
    return (await countOf('queued')) + (await countOf('running')) === 0 ? true : undefined
  })
}

const runRounds = async (open: (random: Random) => Promise<Stage>): Promise<void> => {
  const seed = testSeed()
  const random = new Random(seed)
  const startedAtMs = performance.now()
  const stage = await open(random)
  try {
    const following = new Following(stage, seed)
    const { own, shared, workers } = following
    await following.declare()
    let claims = 0
    for (let round = 0; round < rounds; round++) {
      let isOver = false
      const all = Promise.all([...following.writers, ...workers].map((one) => one.run(() => isOver)))
      try {
        await Promise.race([Bun.sleep(random.int(50, writesMsMax)), all])
        await Promise.race([stage.killOne(), all.then(() => new Promise(() => {}))])
      } finally {
        isOver = true
        await all
      }
      claims += workers.reduce((sum, { claimed }) => sum + claimed.length, 0)
      await following.check()
    }
    await finishAll(await stage.api())
    expect(await stage.servers[0]!.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
    const finished = workers.reduce((sum, worker) => sum + worker.finishedInBatches, 0)
    console.log(
      `followed tables: CUBBY_TEST_SEED=${seed}, ${rounds} rounds, ${stage.kills} kills, ${own.applied} own records written, ` +
        `${own.unknown + shared.unknown} writes without an outcome, ${following.runCount} runs, ${claims} claimed, ` +
        `${finished} finished in batches, ${((performance.now() - startedAtMs) / 1_000).toFixed(0)} s`,
    )
    expect(Math.min(stage.kills, claims, finished, own.applied)).toBeGreaterThan(0)
  } finally {
    await stage.remove()
  }
}

test('one process: every applied write has a run that starts after it, and no other has one', () =>
  runRounds(oneProcess))

test.skipIf(!storeIsEmbedded() || process.platform !== 'linux')('the same of two workers', () => runRounds(twoWorkers))

describe('on PostgreSQL', () => {
  let postgres: SharedPostgres
  beforeAll(async () => {
    postgres = await sharedPostgres()
  })
  afterAll(() => postgres.remove())

  test('the same of two processes', () => runRounds((random) => twoProcesses(postgres, random)))
})
