import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { followersOfTableMax } from '../../src/core/limits.ts'
import type { Api } from '../harness.ts'
import { makeTable, ok, type TestTable } from '../http/service.ts'
import type { LoopAttack } from './attackers.ts'
import { type Bound, expectNobodyRefused, expectServed, inFull, playRounds, type Seen, Stage } from './stage.ts'

// A table that as many tasks follow as may: each of its writes is six, and a batch of 25 is 150. They must cost the organization that
// has declared it so, and not those beside it: neither their requests nor the times of their schedules.

setDefaultTimeout(300_000)

const bound: Bound = { getMs: 20, slowerMax: 40 }
/** A run that is not claimed by the next time of its schedule takes the place of the next one. */
const everyMs = 1_000

let stage: Stage
let table: TestTable
beforeAll(async () => {
  stage = await Stage.open()
  const { api } = stage.attacker.table
  table = await makeTable(api)
  for (let n = 0; n < followersOfTableMax; n++) {
    ok(await api.put(`/v1/app/_tasks/index-${n}`, { on: { table: table.name }, paused: n > 0 }), 201)
  }
})
afterAll(async () => {
  await stage?.close()
})

const attackOf = (): LoopAttack => {
  const key = stage.attacker.organization.secretKey
  const record = (hashKey: string) => ({ hashKey, data: { text: 'x'.repeat(200) } })
  const operations = Array.from({ length: 25 }, (_, i) => ({ op: 'put', ...record(`b{n}-${i}`) }))
  const requests = [
    { method: 'PUT', path: table.path, key, body: JSON.stringify(record('k{n}')) },
    { method: 'POST', path: `${table.path}/batch`, key, body: JSON.stringify({ operations }) },
  ]
  return { kind: 'loop', refusedPauseMs: 100, groups: [{ name: 'writes', connections: 64, requests }] }
}

/** A task of another organization that is due every second, and a worker that waits for it. */
class Scheduled {
  /** The times of the runs that were claimed before the next time, and of those that came later. */
  punctual = 0
  late = 0
  /** The longest time from that of the schedule to the claim. */
  latestMs = 0
  readonly #api: Api
  readonly #working: Promise<void>
  #isOver = false

  private constructor(api: Api) {
    this.#api = api
    this.#working = this.#work()
  }

  static async start(api: Api): Promise<Scheduled> {
    ok(await api.put('/v1/app/_tasks/tick', { schedule: { every: everyMs / 1_000 } }), 201)
    return new Scheduled(api)
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const { runs } = ok(await this.#api.post('/v1/app/_tasks/tick/claim', { waitSeconds: 2 }))
      for (const { id, lease, runAt } of runs) {
        const lateMs = Date.now() - runAt
        if (lateMs < everyMs) this.punctual++
        else this.late++
        this.latestMs = Math.max(this.latestMs, lateMs)
        ok(await this.#api.post(`/v1/app/_tasks/tick/runs/${id}/finish`, { lease }))
      }
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#working
    ok(await this.#api.delete('/v1/app/_tasks/tick'))
  }
}

describe('a table that five tasks follow is written at full speed', () => {
  test('others are served as before, and their schedules have their runs on time', async () => {
    const api = stage.stranger.table.api
    const played: { seen: Seen; ticks: number; scheduled: Scheduled }[] = []
    const seen = await playRounds(bound, async () => {
      const scheduled = await Scheduled.start(api)
      const startedAtMs = performance.now()
      const round = await stage.play(attackOf(), { forMs: inFull(15_000, 4_000) })
      const ticks = Math.floor((performance.now() - startedAtMs) / everyMs)
      await scheduled.end()
      console.log(
        `schedule: ${ticks} times, ${scheduled.punctual} runs on time, ${scheduled.late} late, the latest after ` +
          `${scheduled.latestMs.toFixed(0)} ms`,
      )
      played.push({ seen: round, ticks, scheduled })
      // The name of a deleted task is free at once.
      return round
    })
    for (const each of seen) {
      expectNobodyRefused(each)
      expect(Object.keys(each.attack.answers.writes ?? {}).filter((one) => !['200', '503'].includes(one))).toEqual([])
      expect(each.attack.answers.writes?.[200] ?? 0).toBeGreaterThan(0)
    }
    expectServed(seen, bound)
    const { ticks, scheduled } = played.at(-1)!
    // The first and the last time may lie outside.
    expect({ ticks, enough: scheduled.punctual >= inFull(ticks - 1, ticks / 2) }).toMatchObject({ enough: true })
    const { count } = ok(await table.api.post('/v1/app/_tasks/index-0/query', { select: 'count' }))
    expect(count).toBeGreaterThan(0)
  })
})
