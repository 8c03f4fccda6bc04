import { expect, test } from 'bun:test'
import { type ApiResponse, eventually, type Json, startServer, storeIsEmbedded } from '../harness.ts'
import { Random, testSeed } from '../model/random.ts'
import { NaiveTask, tickSeconds } from './naive-task.ts'
import { ok } from './service.ts'
import { makeTask, type TestTask } from './task.ts'

// Random requests about the runs of one task, compared with a naive task in memory. Each rule has its own test elsewhere; this
// one finds two rules that break each other: a run that expires while another of its key was retried, and is finished late.

/** CUBBY_TEST_RUN_STEPS sets another number. */
const steps = Number(process.env.CUBBY_TEST_RUN_STEPS ?? 150)

const keys = ['k1', 'k2', 'ü/3']
const ids = ['a', 'b', 'c', 'd']

class Walk {
  readonly random: Random
  readonly naive = new NaiveTask({ attempts: 3, concurrency: 4, keepTicks: 2 })
  task!: TestTask
  moveClock: ((ticks: number) => void) | undefined

  constructor(random: Random) {
    this.random = random
  }

  /** A run to add. A delay is between two ticks of the clock. */
  newRun(): Json {
    const { random } = this
    const name = random.pick([{}, { id: random.pick(ids) }, { key: random.pick(keys) }, { key: random.pick(keys) }])
    const delay = random.pick([
      {},
      {},
      { delaySeconds: tickSeconds / 2 },
      { delaySeconds: tickSeconds * 1.5 },
      { runAt: 5 },
    ])
    return { ...name, ...delay, payload: { n: random.int(0, 1) } }
  }

  /** A run that there was at some time, and one of its leases. */
  attempt(): { id: string; lease: string } | undefined {
    return this.random.chance(0.7) ? this.naive.lastLease() : this.random.pick([...this.naive.leases, undefined])
  }

  how(): Json {
    const error = { message: 'no' }
    return this.random.pick([
      {},
      { result: { r: 1 } },
      { error, retryAfter: 0 },
      { error, retryAfter: tickSeconds / 2 },
      { error, retry: false },
    ])
  }

  /** The status that came must be the one expected. */
  expectStatus(what: Json, answer: ApiResponse, expected: number): void {
    expect({ what, status: answer.status, text: answer.status === expected ? '' : answer.text }).toEqual({
      ...{ what, status: expected, text: '' },
    })
  }

  async step(): Promise<void> {
    const { random, naive, task } = this
    const roll = random.int(0, 99)
    if (roll < 26) {
      const run = this.newRun()
      const answer = await task.tryRun(run)
      this.expectStatus(run, answer, naive.add(run, answer.body))
    } else if (roll < 50) {
      const claim = { limit: random.int(1, 3), leaseSeconds: random.pick([tickSeconds / 2, tickSeconds * 1.5]) }
      const runs = await task.claim(claim)
      expect({ claim, ids: runs.map(({ id }) => id) }).toEqual({ claim, ids: naive.claim(claim, runs) })
    } else if (roll < 66) await this.finish()
    else if (roll < 72) await this.extend()
    else if (roll < 78) await this.batch()
    else if (roll < 84) await this.change('cancel')
    else if (roll < 92) await this.change('retry')
    else if (this.moveClock !== undefined) {
      naive.advance()
      this.moveClock(naive.tick)
    }
  }

  async finish(): Promise<void> {
    const attempt = this.attempt()
    if (attempt === undefined) return
    const how = this.how()
    const answer = await this.task.tryFinish(attempt, how)
    this.expectStatus({ finish: attempt, how }, answer, this.naive.finish(attempt, how, answer.body))
  }

  async extend(): Promise<void> {
    const attempt = this.attempt()
    if (attempt === undefined) return
    const leaseSeconds = this.random.pick([tickSeconds / 2, tickSeconds * 1.5])
    const extension = { leaseSeconds, ...(this.random.chance(0.5) && { progress: { p: this.random.int(0, 8) } }) }
    const answer = await this.task.extend(attempt, extension)
    this.expectStatus({ extend: attempt, extension }, answer, this.naive.extend(attempt, extension))
  }

  /** A run and a finish, in either order: both or none. */
  async batch(): Promise<void> {
    const attempt = this.attempt()
    if (attempt === undefined) return
    const [run, how] = [this.newRun(), this.how()]
    if (run.id === attempt.id) return
    const operations = [
      { op: 'run', ...run },
      { op: 'finish', run: attempt.id, lease: attempt.lease, ...how },
    ]
    const runIsFirst = this.random.chance(0.5)
    if (!runIsFirst) operations.reverse()
    const answer = await this.task.tryBatch(operations)
    const added = answer.body?.runs?.[runIsFirst ? 0 : 1]
    const shown = added === undefined ? undefined : await this.task.read(added)
    const ended = answer.status === 200 ? await this.task.read(attempt.id) : undefined
    const expected = this.naive.atOnce((naive) => {
      const add = (): boolean => naive.add(run, shown) < 300
      const finish = (): boolean => naive.finish(attempt, how, ended, true) === 200
      return runIsFirst ? add() && finish() : finish() && add()
    })
    this.expectStatus({ operations }, { ...answer, status: answer.status === 200 ? 200 : 400 }, expected ? 200 : 400)
  }

  async change(verb: 'cancel' | 'retry'): Promise<void> {
    const id = this.random.pick(this.naive.ids())
    if (id === undefined) return
    const answer = await this.task[verb](id)
    this.expectStatus(
      { [verb]: id },
      answer,
      verb === 'cancel' ? this.naive.cancel(id) : this.naive.retry(id, answer.body),
    )
  }

  /** Returns what the server has, without times. Leases that have expired may show a second later. */
  async compare(): Promise<void> {
    const expected = this.naive.shown()
    const read = async (): Promise<Json> => {
      const { items, cursor } = await this.task.query({ limit: 1_000, ascending: true })
      expect(cursor).toBeNull()
      this.naive.learnTimes(items)
      const shown = items.map(({ id, status, key, payload, attempt, progress, result, error, finishedAt }: Json) => [
        id,
        {
          status,
          key,
          payload,
          attempt,
          progress,
          result,
          error: error?.code ?? null,
          isFinished: finishedAt !== null,
        },
      ])
      return Object.fromEntries(shown.toSorted(([a]: [string], [b]: [string]) => (a < b ? -1 : 1)))
    }
    let came: Json
    await eventually(
      'what is expected',
      async () => {
        came = await read()
        return Bun.deepEquals(came, expected) ? true : undefined
      },
      { waitMsMax: 5_000 },
    ).catch(() => expect(came).toEqual(expected))
  }
}

test(`${steps} random requests about runs give what a naive task gives`, async () => {
  const seed = testSeed()
  const server = await startServer({ clock: storeIsEmbedded() })
  const walk = new Walk(new Random(seed))
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    // The backoff is random, but always ends between two ticks.
    const declaration = {
      attempts: 3,
      concurrency: 4,
      backoffSeconds: tickSeconds * 0.4,
      keepSeconds: tickSeconds * 2.5,
    }
    walk.task = await makeTask(api, declaration)
    // On PostgreSQL the clock of the database counts, which no test can move.
    if (storeIsEmbedded()) walk.moveClock = (ticks) => server.setClock(ticks * tickSeconds * 1_000)
    for (let step = 0; step < steps; step++) {
      await walk.step()
      await walk.compare()
    }
    ok(await api.get(walk.task.path))
  } catch (error) {
    ;(error as Error).message = `CUBBY_TEST_SEED=${seed} shows this again.\n${(error as Error).message}`
    throw error
  } finally {
    await server.stop()
  }
}, 600_000)
