import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually, type Json } from '../harness.ts'
import { ok } from '../http/service.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { Receiver } from '../tasks/receiver.ts'
import type { EndlessTargetReport } from './endless-target.ts'
import { Reporter } from './reports.ts'
import { Stage } from './stage.ts'

// A tenant chooses where its runs are pushed, so the target may be its own. If an answer without end were read without end,
// one push would hold the thread that serves everybody.

setDefaultTimeout(240_000)

let stage: Stage
let target: Reporter<EndlessTargetReport>
let receiver: Receiver
beforeAll(async () => {
  stage = await Stage.open({ args: ['--push-allow', '127.0.0.1/32', ...metricsOn] })
  target = await Reporter.start(new URL('endless-target.ts', import.meta.url), null)
  receiver = new Receiver()
})
afterAll(async () => {
  await target?.end()
  await receiver?.stop()
  await stage?.close()
})

/** Without a limit, gets took hundreds of times as long until the lease ended. */
const slowerMax = 30

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

test('interim answers without end fail the push, and hold up neither the requests nor the pushes of others', async () => {
  const attacker = stage.server.as(stage.attacker.organization.secretKey)
  const stranger = stage.server.as(stage.stranger.organization.secretKey)
  const { table } = stage.stranger
  ok(await stranger.put(table.path, { hashKey: 'k', data: { n: 1 } }))
  const gets = async (count: number): Promise<number[]> => {
    const tookMs: number[] = []
    for (let i = 0; i < count; i++) {
      const startedAt = performance.now()
      ok(await stranger.get(`${table.path}/k`))
      tookMs.push(performance.now() - startedAt)
    }
    return tookMs
  }
  await gets(100)
  const calmMs = median(await gets(100))

  const { port } = await target.report()
  const statuses = ['100', '102', '103']
  const task = (name: string): string => `/v1/app/_tasks/endless${name}`
  for (const status of statuses) {
    ok(
      await attacker.put(task(status), { url: `http://127.0.0.1:${port}/${status}`, leaseSeconds: 300, attempts: 1 }),
      201,
    )
  }
  ok(await stranger.put('/v1/app/_tasks/mail', { url: receiver.url() }), 201)
  const runs: string[] = []
  const attack = async (): Promise<void> => {
    const path = task(statuses[runs.length % statuses.length]!)
    runs.push(`${path}/runs/${ok(await attacker.post(`${path}/run`, {}), 201).id}`)
  }
  await attack()
  await eventually('the first push of the attacker', async () =>
    (await target.report()).connections > 0 ? true : undefined,
  )
  const underAttackMs: number[] = []
  const slower = (): number => median(underAttackMs) / calmMs
  const mails: string[] = []
  // It is not attacked further than it stands.
  for (let round = 0; round < 60 && (round === 0 || slower() < slowerMax); round++) {
    underAttackMs.push(...(await gets(3)))
    await attack()
    if (round % 3 === 0) mails.push(ok(await stranger.post('/v1/app/_tasks/mail/run', {}), 201).id)
  }
  const [calm, attacked] = [calmMs, median(underAttackMs)].map((ms) => ms.toFixed(1))
  console.log(`gets took ${attacked} ms instead of ${calm}, while ${runs.length} pushes were answered without end`)
  expect(slower()).toBeLessThan(slowerMax)

  const finished = (by: typeof attacker, path: string): Promise<Json> =>
    eventually(`${path} is finished`, async () => {
      const { body } = await by.get(path)
      return body.finishedAt === null ? undefined : body
    })
  for (const id of mails) {
    expect(await finished(stranger, `/v1/app/_tasks/mail/runs/${id}`)).toMatchObject({ status: 'succeeded' })
  }
  // Their leases would end much later.
  for (const path of runs) {
    expect(await finished(attacker, path)).toMatchObject({ status: 'failed', error: { code: 'connection' } })
  }
  const cut = sumOf(await scrape(stage.server), 'cubby_task_push_answers_cut_total', { part: 'interim' })
  expect(cut).toBe(runs.length)
})
