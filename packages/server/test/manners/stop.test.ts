import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually, type Server, startServer } from '../harness.ts'
import { makeTable, ok, type TestTable } from '../http/service.ts'
import { type RawConnection, rawRequest } from '../raw-connection.ts'

// SIGTERM and SIGINT: stop accepting, finish what was accepted, exit 0 within 10 s.

setDefaultTimeout(120_000)

let server: Server
let table: TestTable
beforeEach(async () => {
  server = await startServer()
  table = await makeTable(server.as((await server.createOrganization()).secretKey))
})
afterEach(async () => {
  await server.stop()
})

/** Signals, and gives the exit code with the time it took. */
const end = async (signal: NodeJS.Signals) => {
  const started = performance.now()
  const exitCode = await server.end(signal)
  return { exitCode, ms: performance.now() - started }
}

const untilStopping = () =>
  eventually('it says that it stops', () => server.log.find(({ message }) => message === 'stopping'))

/** A put of which the head and some of the body have arrived. */
const beginPut = async (body: string, chunked = false): Promise<RawConnection> => {
  const connection = await server.connect()
  const headers: [string, string][] = chunked
    ? [['Transfer-Encoding', 'chunked']]
    : [['Content-Length', String(body.length)]]
  connection.send(rawRequest(server, 'PUT', table.path, { key: table.api.key, headers }))
  connection.send(chunked ? `5\r\n${body.slice(0, 5)}\r\n` : body.slice(0, 5))
  // A complete request on another connection: by then the server has seen the head.
  ok(await table.tryPut({ hashKey: 'behind', data: {} }))
  return connection
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  describe(signal, () => {
    test('idle connections, used and unused, do not delay it', async () => {
      const used = await server.connect()
      used.send(rawRequest(server, 'GET', '/healthz'))
      expect((await used.answer()).status).toBe(200)
      const unused = await server.connect()
      const { exitCode, ms } = await end(signal)
      expect(exitCode).toBe(0)
      expect(ms).toBeLessThan(5_000)
      await used.closed
      // Of one that has sent nothing the process may never have heard: the kernel can keep it to itself.
      unused.close()
    })

    test('a request whose body is still arriving is finished; no new connection is accepted', async () => {
      const bodies = ['{"hashKey":"late","data":{}}', '{"hashKey":"late in chunks","data":{}}'] as const
      const whole = await beginPut(bodies[0])
      const chunked = await beginPut(bodies[1], true)
      const ending = end(signal)
      await untilStopping()
      await eventually('it refuses connections', async () => {
        const newcomer = await server.connect().catch(() => undefined)
        newcomer?.close()
        return newcomer === undefined ? true : undefined
      })
      whole.send(bodies[0].slice(5))
      const rest = bodies[1].slice(5)
      chunked.send(`${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n`)
      expect((await whole.answer()).status).toBe(200)
      expect((await chunked.answer()).status).toBe(200)
      expect((await ending).exitCode).toBe(0)
      await server.start()
      ok(await table.get('late'))
      ok(await table.get('late in chunks'))
    })
  })
}

test('a body that never arrives does not delay it past 10 s, and nothing of it is applied', async () => {
  const connection = await beginPut('{"hashKey":"never","data":{}}')
  const { exitCode, ms } = await end('SIGTERM')
  expect(exitCode).toBe(0)
  expect(ms).toBeLessThan(10_000)
  await connection.closed
  await server.start()
  expect((await table.get('never')).status).toBe(404)
})

test('a signal right after the start stops it as well', async () => {
  await server.restart()
  const { exitCode, ms } = await end('SIGTERM')
  expect(exitCode).toBe(0)
  expect(ms).toBeLessThan(5_000)
})
