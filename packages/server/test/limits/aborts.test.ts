import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { bodiesInFlightBytesMax, responsesUnsentBytesMax } from '../../src/core/limits.ts'
import { eventually, type Server, startServer } from '../harness.ts'
import { makeTable, ok, type TestTable } from '../http/service.ts'
import { Random } from '../model/random.ts'
import { type RawConnection, rawRequest } from '../raw-connection.ts'

// A request must release what it holds, however it ends. If it did not, because its client disconnected at the wrong moment,
// that room would be missing for everybody until a restart.

setDefaultTimeout(120_000)

const mib = 1_048_576

let server: Server
let table: TestTable
beforeAll(async () => {
  server = await startServer()
  table = await makeTable(server.as((await server.createOrganization()).secretKey))
  const text = 'x'.repeat(350_000)
  for (let n = 0; n < 3; n++) ok(await table.tryPut({ hashKey: 'page', rangeKey: `r${n}`, data: { text } }))
})
afterAll(() => server?.stop())

const seed = Number(process.env.CUBBY_TEST_SEED ?? Date.now() % 1_000_000)

test(`clients disconnect at any point: all room is free again afterwards (seed ${seed})`, async () => {
  const random = new Random(seed)
  const { key } = table.api
  const largeBody = Buffer.from(`{"operations":[{"op":"delete","hashKey":"none"}]}`.padEnd(4 * mib))
  const chunk = Buffer.concat([
    Buffer.from(`${(mib / 4).toString(16)}\r\n`),
    Buffer.alloc(mib / 4, ' '),
    Buffer.from('\r\n'),
  ])
  const kinds: ((connection: RawConnection) => void)[] = [
    // Bodies that stop on the way, of a known length and in chunks.
    (connection) => {
      const headers: [string, string][] = [['Content-Length', String(largeBody.length)]]
      connection.send(rawRequest(server, 'POST', `${table.path}/batch`, { key, headers }))
      connection.send(largeBody.subarray(0, random.int(1, largeBody.length - 1)))
    },
    (connection) => {
      const headers: [string, string][] = [['Transfer-Encoding', 'chunked']]
      connection.send(rawRequest(server, 'POST', `${table.path}/batch`, { key, headers }))
      for (let n = random.int(0, 11); n > 0; n--) connection.send(chunk)
    },
    // Large responses that nobody reads, and writes whose client is gone before the response.
    (connection) =>
      connection.send(rawRequest(server, 'POST', `${table.path}/query`, { key, body: '{"hash":"page"}' })),
    (connection) => connection.send(rawRequest(server, 'GET', table.at('page', 'r0'), { key })),
    (connection) =>
      connection.send(
        rawRequest(server, 'PUT', table.path, {
          key,
          body: JSON.stringify({ hashKey: 'large', data: { text: 'x'.repeat(40_000) } }),
        }),
      ),
  ]
  for (let round = 0; round < 40; round++) {
    const open = await Promise.all(Array.from({ length: 20 }, () => server.connect()))
    for (const connection of open) random.pick(kinds)(connection)
    await Bun.sleep(random.int(0, 20))
    for (const connection of open) connection.close()
  }

  // One API key sends as much as it may have of each, all at once.
  const batches = Math.floor(bodiesInFlightBytesMax / 4 / largeBody.length) - 1
  const pages = Math.floor(responsesUnsentBytesMax / 4 / (1.1 * mib)) - 1
  await eventually('all of the room of bodies', async () => {
    const answers = await Promise.all(
      Array.from({ length: batches }, () => table.api.post(`${table.path}/batch`, String(largeBody))),
    )
    return answers.every(({ status }) => status === 200) || undefined
  })
  await eventually('all of the room of answers', async () => {
    const answers = await Promise.all(Array.from({ length: pages }, () => table.tryQuery({ hash: 'page' })))
    return answers.every(({ status }) => status === 200) || undefined
  })
  expect((await table.get('page', 'r0')).status).toBe(200)
})
