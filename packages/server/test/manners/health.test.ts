import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { eventually, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { ok, refused } from '../http/service.ts'

setDefaultTimeout(120_000)

let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  await server.stop()
})

describe('GET /healthz and GET /readyz need no key', () => {
  for (const path of ['/healthz', '/readyz']) {
    test(`${path} answers 200 as soon as the start-up line is out`, async () => {
      ok(await server.request('GET', path))
      expect((await server.raw('HEAD', path)).status).toBe(200)
    })

    test(`${path} takes a key that means nothing as none`, async () => {
      ok(await server.request('GET', path, { headers: { authorization: 'Bearer nonsense' } }))
    })

    test(`${path} has no other method`, async () => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const answer = await server.request(method, path)
        refused(answer, 405, 'method_not_allowed')
        expect(answer.headers.get('allow')).toContain('GET')
      }
    })
  }
})

test('the start-up line says address, engine and data directory', () => {
  const line = server.log.find(({ message }) => message === 'listening')
  expect(line.level).toBe('info')
  expect(line.url).toBe(`http://127.0.0.1:${server.port}`)
  expect(line.engine).toMatch(storeIsEmbedded() ? /^sqlite \d/ : /\S/)
  if (storeIsEmbedded()) expect(line.data).toBe(server.dataDir)
})

test.skipIf(!storeIsEmbedded())('readyz is 503 while the store cannot serve, healthz stays 200, and back', async () => {
  const db = new Database(join(server.dataDir, 'cubby.db'))
  db.run('PRAGMA busy_timeout = 5000')
  try {
    db.run('ALTER TABLE meta RENAME TO meta_away')
    await eventually('readyz notices', async () =>
      (await server.request('GET', '/readyz')).status === 503 ? true : undefined,
    )
    // Again and again: a look that failed must not count as one that found all well.
    for (let i = 0; i < 3; i++) {
      refused(await server.request('GET', '/readyz'), 503, 'unavailable')
      ok(await server.request('GET', '/healthz'))
    }
    db.run('ALTER TABLE meta_away RENAME TO meta')
    ok(await server.request('GET', '/readyz'))
  } finally {
    db.close()
  }
})
