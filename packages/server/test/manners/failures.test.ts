import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type ApiResponse, eventually, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { freshName, makeTable, ok, refused, type TestTable } from '../http/service.ts'

// Unexpected failures: here the test removes a table of SQLite while the server is running. The response must be 500 with a
// request id, the log must have the cause, and the process must continue.

setDefaultTimeout(120_000)

describe.skipIf(!storeIsEmbedded())('an unexpected failure', () => {
  let server: Server
  let table: TestTable
  let publicKey: string
  let db: Database
  beforeAll(async () => {
    server = await startServer()
    const org = await server.createOrganization()
    publicKey = org.publicKey
    table = await makeTable(server.as(org.secretKey), { i1: { hashField: 'a' } })
    await table.put('a', { a: 1 })
    db = new Database(join(server.dataDir, 'cubby.db'))
    db.run('PRAGMA busy_timeout = 2000')
  })
  afterAll(async () => {
    db?.close()
    if (server !== undefined) await server.stop()
  })

  /** Does something while a table of the store is gone; then all is as before, and the process the same. */
  const without = async (name: string, work: () => Promise<void>): Promise<void> => {
    const { pid } = server
    db.run(`ALTER TABLE ${name} RENAME TO ${name}_away`)
    try {
      // Reads may go on from before, until the server itself has committed something.
      if (name === 'records') ok(await table.api.post(`/v1/app/${freshName()}`), 201)
      await work()
      ok(await server.request('GET', '/healthz'))
    } finally {
      db.run(`ALTER TABLE ${name}_away RENAME TO ${name}`)
    }
    expect(server.pid).toBe(pid)
    await table.put('a', { a: 1 })
    ok(await table.get('a'))
    ok(await server.request('GET', '/readyz'))
    await table.batch([
      { op: 'put', hashKey: 'b', data: { a: 2 } },
      { op: 'delete', hashKey: 'c' },
    ])
    expect(await table.hashes({ index: 'i1', hash: 1 })).toEqual(['a'])
  }

  /** 500 `internal` without internal details for the caller; the log has all of them for the operator. */
  const expectInternal = async (answer: ApiResponse): Promise<void> => {
    const { message, hint, requestId } = refused(answer, 500, 'internal')
    expect(`${message} ${hint}`).not.toMatch(/sqlite|table: |select|\.ts/i)
    const entry = await eventually('the cause, under the id of the answer', () =>
      server.log.find((line) => line.requestId === requestId),
    )
    expect([entry.level, entry.cause]).toEqual(['error', expect.stringContaining('no such table')])
  }

  test('of a get', () => without('records', async () => expectInternal(await table.get('a'))))

  test('of a query', () =>
    without('records', async () => expectInternal(await table.tryQuery({ index: 'i1', hash: 1 }))))

  test('of a resource of agents: it is not said that the table is missing', () =>
    without('records', async () => {
      const params = { uri: `cubby://${table.db}/${table.name}` }
      const { body } = await table.api.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'resources/read', params })
      expect(body.error).toMatchObject({ code: -32603, data: { error: { code: 'internal' } } })
    }))

  test('of a put', () =>
    without('records', async () => expectInternal(await table.tryPut({ hashKey: 'a', data: { a: 1 } }))))

  test('of a batch', () =>
    without(
      'records',
      async () =>
        await expectInternal(
          await table.tryBatch([
            { op: 'put', hashKey: 'a', data: {} },
            { op: 'put', hashKey: 'b', data: {} },
          ]),
        ),
    ))

  test('of looking up a key', () =>
    without('api_keys', async () => {
      // This is not a key that the server remembers.
      await expectInternal(await server.as(publicKey).get('/v1'))
      await expectInternal(await table.api.get('/api/keys'))
    }))

  test('of a listing', () => without('tables', async () => expectInternal(await table.api.get('/v1/app'))))

  test('of creating a table', () => without('tables', async () => expectInternal(await table.api.post('/v1/app/new'))))

  test('of what every write needs: the store is not held afterwards', () =>
    without('meta', async () => {
      const answer = await table.tryPut({ hashKey: 'a', data: { a: 1 } })
      expect(answer.status).toBe(500)
    }))

  test('many at once', () =>
    without('records', async () => {
      const answers = await Promise.all([
        ...Array.from({ length: 20 }, (_, i) => table.tryPut({ hashKey: `p${i}`, data: {} })),
        ...Array.from({ length: 20 }, () => table.get('a')),
      ])
      for (const answer of answers) refused(answer, 500, 'internal')
    }))

  test('leaves a sound store', async () => {
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
  })
})

describe.skipIf(!storeIsEmbedded())('a writer that fails and cannot start again', () => {
  test('every write gets a response until then, writes work again afterwards, and the process stops normally', async () => {
    const server = await startServer()
    try {
      const table = await makeTable(server.as((await server.createOrganization()).secretKey))
      await table.put('a')
      const db = new Database(join(server.dataDir, 'cubby.db'))
      db.run('PRAGMA busy_timeout = 2000')
      // The first is what each commit begins with, the second what a new connection prepares for.
      db.run('ALTER TABLE meta RENAME TO meta_away')
      db.run('ALTER TABLE records RENAME TO records_away')
      for (let i = 0; i < 5; i++) {
        // One that is never answered fails by the time limit of the test.
        const answer = await table.tryPut({ hashKey: 'b', data: {} })
        expect(answer.status).toBeGreaterThanOrEqual(500)
      }
      ok(await server.request('GET', '/healthz'))
      db.run('ALTER TABLE records_away RENAME TO records')
      db.run('ALTER TABLE meta_away RENAME TO meta')
      db.close()
      await eventually('a put works again', async () => {
        const answer = await table.tryPut({ hashKey: 'c', data: {} })
        return answer.status === 200 ? true : undefined
      })
      ok(await table.get('a'))
      // A stop that waited for the old writer would never end.
      expect(await server.end('SIGTERM')).toBe(0)
      expect(server.log.at(-1)).toMatchObject({ message: 'stopped' })
    } finally {
      await server.kill()
      server.remove()
    }
  })
})
