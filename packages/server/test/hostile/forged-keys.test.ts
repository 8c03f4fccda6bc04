import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../harness.ts'
import { ok } from '../http/service.ts'
import type { AttackReport, ForgeAttack } from './attackers.ts'
import { canReadMemory, memoryBytes, mib, Stage, startAttack } from './stage.ts'

// Anybody can forge the checksum of a key, and spaces before a key have no meaning. So a cache of such headers must be limited
// in bytes.

setDefaultTimeout(120_000)

let stage: Stage
beforeAll(async () => {
  stage = await Stage.open()
})
afterAll(async () => {
  await stage?.close()
})

const send = async (keys: ForgeAttack['keys'], requests = 9_900): Promise<AttackReport['answers'][string]> => {
  const path = `${stage.attacker.table.path}/none`
  const attackers = await startAttack(stage.server, {
    kind: 'forge',
    connections: 16,
    requests,
    path,
    paddingBytes: 15_000,
    keys,
  })
  const answers: Record<string, number> = {}
  try {
    await eventually(
      'all of them are sent',
      async () => {
        const report = await attackers.report()
        for (const [outcome, times] of Object.entries(report.answers.forge ?? {})) {
          answers[outcome] = (answers[outcome] ?? 0) + times
        }
        return report.finished ? true : undefined
      },
      { waitMsMax: 40_000, pauseMs: 100 },
    )
  } finally {
    await attackers.end()
  }
  return answers
}

/** Measures the memory that stays: the least of some readings, while small requests give the collector reason to run. */
const settledBytes = async (): Promise<number> => {
  const readings: number[] = []
  for (let n = 0; n < 12; n++) {
    for (let i = 0; i < 40; i++) ok(await stage.server.request('GET', '/healthz'))
    readings.push(memoryBytes(stage.server.pid))
    await Bun.sleep(50)
  }
  return Math.min(...readings)
}

test.skipIf(!canReadMemory)('9,900 forged keys padded with spaces use at most 20 MiB afterwards', async () => {
  // As much traffic of keys that are refused before anything is remembered: what it leaves is not what we look for.
  expect(await send('malformed')).toEqual({ 401: 9_900 })
  const before = await settledBytes()
  expect(await send('well-formed')).toEqual({ 401: 9_900 })
  expect((await settledBytes()) - before).toBeLessThan(20 * mib)
  expect(await send({ real: stage.attacker.organization.publicKey })).toEqual({ 404: 9_900 })
  expect((await settledBytes()) - before).toBeLessThan(20 * mib)
  // Different keys are still distinguished.
  ok(await stage.server.as(stage.attacker.organization.publicKey).get('/v1'))
  ok(await stage.server.as(stage.stranger.organization.secretKey).get('/v1'))
})
