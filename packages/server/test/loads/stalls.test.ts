import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileIdleMsMax, uploadProgressBytesMin } from '../../src/core/limits.ts'
import { endWait, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import { eventually, makeTempDir, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { ok, refused, type TestTable } from '../http/service.ts'
import { type BodyKind, bodyKinds, countFirstLines, linesOf, makeLoadTable, SentLoad } from './load-body.ts'

// A sender that stalls holds one of few places. One that is slow, or that waits for the server, must not be taken for it. Only the
// real clock shows this through the door, so all wait at once.

setDefaultTimeout(120_000)

let server: Server
let key: string
beforeAll(async () => {
  server = await startServer()
  key = (await server.createOrganization()).secretKey
})
afterAll(async () => {
  await server.stop()
})

const begin = async (kind: BodyKind, on = server, withKey = key): Promise<{ sent: SentLoad; table: TestTable }> => {
  const table = await makeLoadTable(on, withKey)
  return { sent: await SentLoad.begin(on, table, kind), table }
}

const stalled = async ({ sent, table }: Awaited<ReturnType<typeof begin>>): Promise<void> => {
  const startedAtMs = performance.now()
  const answer = await sent.answer()
  const { count, message } = refused(answer, 503, 'unavailable')
  expect(message).toContain(`Fewer than ${uploadProgressBytesMin} bytes of the load`)
  expect(answer.headers.get('connection')).toBe('close')
  const waitedMs = performance.now() - startedAtMs
  expect(waitedMs).toBeGreaterThan(fileIdleMsMax - 2_000)
  expect(waitedMs).toBeLessThan(fileIdleMsMax + 10_000)
  await sent.closed
  expect(await countFirstLines(table)).toBe(count)
  expect(count).toBe(2_000)
}

const silent = async (kind: BodyKind): Promise<void> => {
  const load = await begin(kind)
  load.sent.send(linesOf(0, 2_001))
  await stalled(load)
}

const dripping = async (): Promise<void> => {
  const other = (await server.createOrganization()).secretKey
  const load = await begin('of a length', server, other)
  load.sent.send(linesOf(0, 2_001))
  const timer = setInterval(() => load.sent.send(' '), 1_000)
  await stalled(load)
  clearInterval(timer)
}

const slowSender = async (): Promise<void> => {
  const other = (await server.createOrganization()).secretKey
  const { sent, table } = await begin('of a length', server, other)
  sent.close()
  const lines = 6_000
  const text = Buffer.from(linesOf(0, lines))
  const load = await SentLoad.begin(server, table, 'of a length', text.length)
  const part = uploadProgressBytesMin / 8
  for (let at = 0; at < text.length; at += part) {
    load.send(text.subarray(at, at + part).toString())
    if (at < 12 * part) await Bun.sleep((1.4 * fileIdleMsMax) / 12)
  }
  expect(ok(await load.answer()).count).toBe(lines)
  load.close()
}

const slowStore = async (): Promise<void> => {
  const dir = makeTempDir()
  const faults = join(dir, 'faults')
  const slow = await startServer({ dataDir: join(dir, 'data'), env: { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults } })
  try {
    const { sent, table } = await begin('chunked', slow, (await slow.createOrganization()).secretKey)
    planFaults(faults, [{ at: 'commit', waitMs: 100_000 }])
    sent.send(linesOf(0, 3_000))
    await eventually('the writer waits', () => (existsSync(`${faults}.hit`) ? true : undefined))
    await Bun.sleep(fileIdleMsMax + 3_000)
    endWait(faults)
    sent.send(linesOf(3_000, 4_000))
    sent.end()
    expect(ok(await sent.answer()).count).toBe(4_000)
    expect(await countFirstLines(table)).toBe(4_000)
    sent.close()
  } finally {
    await slow.stop()
    removeTempDir(dir)
  }
}

// One after another they would take minutes.
test('silent and dripping senders are cut with the number of stored lines; slow ones and a slow store are waited for', async () => {
  await Promise.all([...bodyKinds.map(silent), dripping(), slowSender(), ...(storeIsEmbedded() ? [slowStore()] : [])])
})
