import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { stopMsMax } from '../../src/core/limits.ts'
import { eventually, type Server, startServer } from '../harness.ts'
import { ok, refused } from '../http/service.ts'
import { bodyKinds, countFirstLines, linesOf, makeLoadTable, SentLoad, storedUpTo } from './load-body.ts'

// A load may take hours. A stop must neither wait for it nor leave its sender without knowing what is stored.

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

/** Stops the server in the middle of a load; gives the answer to it. */
const stopDuring = async (sent: SentLoad) => {
  const startedAtMs = performance.now()
  const ended = server.end('SIGTERM')
  const answer = await sent.answer()
  await sent.closed
  sent.close()
  expect(await ended).toBe(0)
  expect(performance.now() - startedAtMs).toBeLessThan(stopMsMax)
  await server.start()
  return answer
}

describe.each(bodyKinds)('a body that is %s', (kind) => {
  test('and still arrives: the answer says which lines are stored', async () => {
    const table = await makeLoadTable(server, key)
    const sent = await SentLoad.begin(server, table, kind)
    sent.send(linesOf(0, 2_500))
    await eventually('lines are stored', async () => ((await storedUpTo(table)) > 0 ? true : undefined))
    const answer = await stopDuring(sent)
    const { count } = refused(answer, 503, 'unavailable')
    expect(answer.headers.get('connection')).toBe('close')
    expect(answer.headers.has('retry-after')).toBe(true)
    expect(await countFirstLines(table)).toBe(count)
    expect(count).toBeGreaterThan(0)
  })

  test('and has arrived: the same, or all lines are stored', async () => {
    const lines = 40_000
    const text = linesOf(0, lines)
    const table = await makeLoadTable(server, key)
    const sent = await SentLoad.begin(server, table, kind, text.length)
    sent.send(text)
    sent.end()
    await eventually('lines are stored', async () => ((await storedUpTo(table)) > 0 ? true : undefined))
    const answer = await stopDuring(sent)
    const count = answer.status === 200 ? ok(answer).count : refused(answer, 503, 'unavailable').count
    expect(await countFirstLines(table)).toBe(count)
    expect(count).toBeGreaterThan(0)
  })
})

test('a little that is unpacked to very many wrong lines: they are not all judged first', async () => {
  const table = await makeLoadTable(server, key)
  const sent = await SentLoad.begin(server, table, 'gzip', undefined, '?onError=skip')
  sent.send(linesOf(0, 2_500))
  sent.send('{}\n'.repeat(10_000_000))
  sent.end()
  await eventually('lines are stored', async () => ((await storedUpTo(table)) > 0 ? true : undefined))
  const { count } = refused(await stopDuring(sent), 503, 'unavailable')
  expect(await countFirstLines(table)).toBe(count)
})

test('the store is sound afterwards', async () => {
  expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stderr: '' })
})
