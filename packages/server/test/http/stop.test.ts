import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { stopMsMax } from '../../src/core/limits.ts'
import { type Server, startServer } from '../harness.ts'
import { rawRequest } from '../raw-connection.ts'
import { makeTable, ok, type TestTable } from './service.ts'

// A stop that drops accepted writes, or hangs, makes every deployment a small outage.

setDefaultTimeout(120_000)

let server: Server
let table: TestTable
beforeAll(async () => {
  server = await startServer()
  table = await makeTable(server.as((await server.createOrganization()).secretKey))
})
afterAll(async () => {
  await server.stop()
})

describe('start', () => {
  test('the start-up line says address, engine and data directory', () => {
    const line = server.log.find((entry) => entry.message === 'listening')
    expect(line).toMatchObject({ url: server.url, engine: expect.any(String), data: expect.any(String) })
  })

  test('logs are one JSON object per line, and requests are not logged by default', async () => {
    await table.put('a')
    await server.request('GET', '/nowhere')
    expect(server.log.length).toBe(server.logLines.length)
    expect(server.logLines.some((line) => line.includes('nowhere'))).toBe(false)
  })
})

describe('stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}: what was accepted is finished, exit 0 within 10 s, and the store is sound`, async () => {
      const acknowledged: string[] = []
      let stopping = false
      const writer = async (name: string) => {
        for (let i = 0; !stopping; i++) {
          const key = `${signal}-${name}-${i}`
          const answer = await table.tryPut({ hashKey: key, data: {} }).catch(() => undefined)
          if (answer === undefined || answer.status === 503) return
          ok(answer)
          acknowledged.push(key)
        }
      }
      const writers = Array.from({ length: 8 }, (_, i) => writer(`w${i}`))
      while (acknowledged.length < 50) await Bun.sleep(5)
      const started = Date.now()
      const code = await server.end(signal)
      stopping = true
      expect(code).toBe(0)
      // The contract's own number, which only the real clock shows. A stop takes less than a tenth of it.
      expect(Date.now() - started).toBeLessThan(stopMsMax)
      await Promise.all(writers)
      await server.start()
      for (const key of acknowledged.slice(-60)) ok(await table.get(key))
      expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
    })
  }

  test('a request whose body was arriving is finished, then the server is gone', async () => {
    const connection = await server.connect()
    const body = '{"hashKey":"late","data":{}}'
    const headers: [string, string][] = [['Content-Length', String(body.length)]]
    connection.send(rawRequest(server, 'PUT', table.path, { key: table.api.key, headers }))
    connection.send(body.slice(0, 10))
    ok(await table.tryPut({ hashKey: 'behind it', data: {} }))
    const ended = server.end('SIGTERM')
    connection.send(body.slice(10))
    const answer = await connection.answer()
    connection.close()
    expect(answer.status).toBe(200)
    expect(await ended).toBe(0)
    await server.start()
    ok(await table.get('late'))
  })

  test('an idle connection does not delay it', async () => {
    const idle = await server.connect()
    const started = Date.now()
    expect(await server.end('SIGTERM')).toBe(0)
    // The same number.
    expect(Date.now() - started).toBeLessThan(stopMsMax)
    idle.close()
    await server.start()
    ok(await table.get('late'))
  })
})
