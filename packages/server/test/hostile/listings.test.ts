import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { responsesUnsentBytesMax } from '../../src/core/limits.ts'
import { eventually } from '../harness.ts'
import { makeBucket, type TestBucket } from '../http/bucket.ts'
import { freshName, inParallel, makeTable, type TestTable } from '../http/service.ts'
import { TestTask } from '../http/task.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { rawRequest } from '../raw-connection.ts'
import type { LoopRequest, UnreadAttack } from './attackers.ts'
import {
  type Bound,
  expectNobodyRefused,
  expectServed,
  fillTable,
  inFull,
  playRounds,
  type Seen,
  Stage,
  startAttack,
} from './stage.ts'
import { canRefuseToRead } from './unread.ts'

// An answer that is made in several turns takes memory between them. If it were not counted, each connection of one caller
// would hold one: 300 listings of files took 2.9 GB in 18 s.

setDefaultTimeout(300_000)

// Listings without room took 2.9 GB, tables described without room 976 MiB and waiting batches 2,211 MiB. With room the peak was 230
// to 420 MB, the more the busier the machine was.
const memoryBytesMax = 600_000_000
const bound: Bound = { getMs: 20, slowerMax: 40 }

let stage: Stage
let bucket: TestBucket
let table: TestTable
beforeAll(async () => {
  stage = await Stage.open({ args: ['--small-files-in-store', ...metricsOn] })
  const { api } = stage.attacker.table
  bucket = await makeBucket(api)
  const query = { visibility: 'public', metadata: JSON.stringify({ text: 'm'.repeat(889) }) }
  // One page has fewer than 1,000 of them.
  const names = Array.from({ length: inFull(6_000, 1_000) }, (_, n) => `file-${n}`)
  await inParallel(names, 40, (name) => bucket.put(name, 'x', { query }))
  table = await makeTable(api)
  await fillTable(
    table,
    Array.from({ length: 100 }, (_, n) => ({ hashKey: 'page', rangeKey: `r${n}`, data: { text: 'x'.repeat(900) } })),
  )
})
afterAll(async () => {
  await stage?.close()
})

const expectLittleMemory = async (request: LoopRequest, connections: number, forMs: number): Promise<Seen[]> => {
  const groups = [{ name: 'attack', connections, requests: [request] }]
  const seen = await playRounds(bound, () => stage.play({ kind: 'loop', refusedPauseMs: 100, groups }, { forMs }))
  for (const each of seen) {
    expectNobodyRefused(each)
    expect(each.memory.peakBytes).toBeLessThan(memoryBytesMax)
    expect(each.attack.answers.attack?.[200] ?? 0).toBeGreaterThan(0)
    expect(each.attack.answers.attack?.[500]).toBeUndefined()
  }
  expectServed(seen, bound)
  return seen
}

const readPage = '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"cubby:///api.md"}}'

// The first one: what the clients of the others have left is still built for some seconds, and takes room.
test.skipIf(!canRefuseToRead())('while the answers to a key are unread, only its large answers wait', async () => {
  const key = stage.attacker.organization.secretKey
  const caller = stage.server.as(key)
  // Admitted while there is room; its body ends when there is none.
  const early = await stage.server.connect()
  const call = rawRequest(stage.server, 'POST', '/mcp', { key, body: readPage })
  early.send(call.subarray(0, -1))
  // The answer to a put has its record, which is more than the system's buffers hold. Twice as many as fill the room of a key.
  const body = JSON.stringify({ hashKey: 'large', data: { text: 'x'.repeat(400_000) } })
  const connections = Math.ceil(responsesUnsentBytesMax / 2 / body.length)
  const attack: UnreadAttack = { kind: 'unread', connections, head: { method: 'PUT', path: table.path, key }, body }
  const attackers = await startAttack(stage.server, attack)
  try {
    await eventually('there is no room', async () => {
      const { status } = await caller.post('/mcp', readPage)
      return status === 503 ? true : undefined
    })
    const answered: string[] = []
    const large = [
      bucket.tryQuery({ limit: 1_000 }, caller).finally(() => answered.push('files')),
      caller.post('/mcp', `[${readPage},${readPage}]`).finally(() => answered.push('batch')),
    ]
    expect((await bucket.tryQuery({ limit: 5 }, caller)).body.count).toBe(5)
    expect((await caller.get(table.at('page', 'r1'))).status).toBe(200)
    early.send(call.subarray(-1))
    expect((await early.answer()).status).toBe(503)
    expect(answered).toEqual([])
    // They are refused after their wait, unless the server has ended the connections by then.
    const statuses = (await Promise.all(large)).map(({ status }) => status)
    for (const status of statuses) expect([200, 503]).toContain(status)
    const late = sumOf(await scrape(stage.server), 'cubby_http_answers_refused_total', { reason: 'late' })
    expect(late).toBeGreaterThanOrEqual(statuses.filter((status) => status === 503).length)
  } finally {
    early.close()
    await attackers.end()
  }
})

test('300 connections list 1,000 files each with a public key: memory stays small and others are served', async () => {
  const key = stage.attacker.organization.publicKey
  const request = { method: 'POST', path: `${bucket.path}/query`, key, body: '{"limit":1000}' }
  await expectLittleMemory(request, 300, inFull(18_000, 6_000))
})

test('200 connections send batches of 25 queries to /mcp: memory stays small and others are served', async () => {
  const query = `{"db":"${table.db}","table":"${table.name}","hash":"page","limit":100}`
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_records","arguments":${query}}}`
  const key = stage.attacker.organization.publicKey
  const request = { method: 'POST', path: '/mcp', key, body: `[${Array(25).fill(call)}]` }
  await expectLittleMemory(request, 200, inFull(18_000, 8_000))
})

// The reading takes several turns, although the answer is short.
test('300 connections describe a table: memory stays small and others are served', async () => {
  const large = await makeTable(stage.attacker.table.api)
  const data = { list: Array(200).fill({ a: 'x'.repeat(50), b: 1, c: 'y'.repeat(20) }) }
  await fillTable(
    large,
    Array.from({ length: 50 }, (_, n) => ({ hashKey: `h${n}`, data })),
  )
  const given = `{"db":"${large.db}","table":"${large.name}"}`
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"describe_table","arguments":${given}}}`
  const key = stage.attacker.organization.publicKey
  await expectLittleMemory({ method: 'POST', path: '/mcp', key, body }, 300, inFull(12_000, 5_000))
})

test('batches that wait for a run first keep their room: 300 of them do not go on together', async () => {
  const { api, db } = stage.attacker.table
  const task = new TestTask(api, freshName('task'), db)
  await task.declare()
  const { id } = await task.run()
  const given = `{"db":"${db}","task":"${task.name}","run":"${id}","waitSeconds":1}`
  const wait = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":${given}}}`
  const key = stage.attacker.organization.publicKey
  const request = { method: 'POST', path: '/mcp', key, body: `[${[wait, ...Array(24).fill(readPage)]}]` }
  await expectLittleMemory(request, 300, inFull(18_000, 8_000))
})
