import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { bodyMsMax } from '../../src/core/limits.ts'
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

const untilStopping = () =>
  eventually('it says that it stops', () => server.log.find(({ message }) => message === 'stopping'))

/** A put of which the head and some of the body have arrived. */
const beginPut = async (body: string, chunked = false, into = table): Promise<RawConnection> => {
  const { server } = into.api
  const connection = await server.connect()
  const headers: [string, string][] = chunked
    ? [['Transfer-Encoding', 'chunked']]
    : [['Content-Length', String(body.length)]]
  connection.send(rawRequest(server, 'PUT', into.path, { key: into.api.key, headers }))
  connection.send(chunked ? `5\r\n${body.slice(0, 5)}\r\n` : body.slice(0, 5))
  // A complete request on another connection: by then the server has seen the head.
  ok(await into.tryPut({ hashKey: 'behind', data: {} }))
  return connection
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  describe(signal, () => {
    test('idle connections, used and unused, do not delay it', async () => {
      const used = await server.connect()
      used.send(rawRequest(server, 'GET', '/healthz'))
      expect((await used.answer()).status).toBe(200)
      const unused = await server.connect()
      // Another server, which waits for a body that never arrives, for as long as a stop waits for anything.
      const patient = await startServer()
      try {
        const organization = await patient.createOrganization()
        const body = '{"hashKey":"never","data":{}}'
        await beginPut(body, false, await makeTable(patient.as(organization.secretKey)))
        const order: string[] = []
        const ended = (name: string, of: Server) => of.end(signal).finally(() => order.push(name))
        const delayed = ended('delayed', patient)
        await eventually('it says that it stops', () => patient.log.find(({ message }) => message === 'stopping'))
        expect(await ended('idle', server)).toBe(0)
        expect(order).toEqual(['idle'])
        await patient.kill()
        await delayed
      } finally {
        await patient.stop()
      }
      await used.closed
      // The process may not know a connection that has sent nothing: the kernel can keep it to itself.
      unused.close()
    })

    test('a request whose body is still arriving is finished; no new connection is accepted', async () => {
      const bodies = ['{"hashKey":"late","data":{}}', '{"hashKey":"late in chunks","data":{}}'] as const
      const whole = await beginPut(bodies[0])
      const chunked = await beginPut(bodies[1], true)
      const ending = server.end(signal)
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
      expect(await ending).toBe(0)
      await server.start()
      ok(await table.get('late'))
      ok(await table.get('late in chunks'))
    })
  })
}

test('a body that never arrives does not delay it past 10 s, and nothing of it is applied', async () => {
  const connection = await beginPut('{"hashKey":"never","data":{}}')
  const startedAtMs = performance.now()
  expect(await server.end('SIGTERM')).toBe(0)
  const tookMs = performance.now() - startedAtMs
  console.log(`a stop with a body that never arrives: ${(tookMs / 1000).toFixed(1)} s`)
  // It stops waiting 8.5 s after the signal, and a busy machine takes its time for the rest. What would end the wait otherwise
  // is the time that a body may take: without the limit, it would be that.
  expect(tookMs).toBeLessThan(bodyMsMax - 1_000)
  await connection.closed
  await server.start()
  expect((await table.get('never')).status).toBe(404)
})

test('a signal right after the start stops it as well', async () => {
  await server.restart()
  // A signal that came too early for its handler would end it with another code, or not at all.
  expect(await server.end('SIGTERM')).toBe(0)
  expect(server.log.at(-1)).toMatchObject({ message: 'stopped' })
})
