import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Api, cubbyCommand, eventually, type Server, socketsOf, startServer, storeIsEmbedded } from './harness.ts'
import { ok } from './http/service.ts'
import { connectRaw, type RawConnection } from './raw-connection.ts'
import { isAlive, workersOf } from './worker-processes.ts'

// Several processes serve one store. Without these promises, a client whose next request reaches another process could read
// overwritten data, or continue to use a revoked key.

describe.skipIf(process.platform !== 'linux' || !storeIsEmbedded())('serve --workers 3', () => {
  let server: Server
  let api: Api
  let key: string
  let connections: RawConnection[]
  let socketsBefore: number[]

  const ask = async (connection: RawConnection, method: string, path: string, body?: unknown, withKey = key) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const head = [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${withKey}`]
    connection.send(`${head.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
    return connection.answer()
  }

  beforeAll(async () => {
    server = await startServer({ args: ['--workers', '3'] })
    key = (await server.createOrganization()).secretKey
    api = server.as(key)
    await api.post('/v1/app/notes')
    socketsBefore = workersOf(server.pid).map(socketsOf)
    // Each connection stays with the process that the system gave it to; so many reach all three.
    connections = await Promise.all(Array.from({ length: 24 }, () => connectRaw(server.port)))
  })
  afterAll(async () => {
    for (const connection of connections) connection.close()
    await server.stop()
  })

  test('three processes serve, and the log says so', async () => {
    expect(workersOf(server.pid)).toHaveLength(3)
    expect(server.logLines.find((line) => line.includes('"listening"'))).toContain('"workers":3')
    await Promise.all(connections.map((connection) => ask(connection, 'GET', '/v1/app/notes/none')))
    const served = workersOf(server.pid).map((worker, i) => socketsOf(worker) > socketsBefore[i]!)
    expect(served).toEqual([true, true, true])
  })

  test('a write through one process is read through every other from the moment it is answered', async () => {
    for (let i = 0; i < 40; i++) {
      const writer = connections[i % connections.length]!
      const put = await ask(writer, 'PUT', '/v1/app/notes', { hashKey: 'shared', data: { i } })
      expect(put.status).toBe(200)
      const reads = await Promise.all(connections.map((connection) => ask(connection, 'GET', '/v1/app/notes/shared')))
      for (const read of reads) expect(read.body).toMatchObject({ data: { i } })
    }
  })

  test('a find through one process sees all of a batch through another or nothing of it, and what was answered', async () => {
    const keys = Array.from({ length: 25 }, (_, i) => ({ hashKey: `find-${i}` }))
    const states = new Set<number>()
    const read = async (connection: RawConnection): Promise<number> => {
      const { body } = await ask(connection, 'POST', '/v1/app/notes/find', { keys })
      const seen = new Set<number>(body.items.map((item: { data: { n: number } }) => item.data.n))
      expect([body.items.length, seen.size]).toEqual(seen.size === 0 ? [0, 0] : [25, 1])
      const n = [...seen][0] ?? -1
      states.add(n)
      return n
    }
    const [writer, ...readers] = connections
    for (let n = 0; n < 60; n++) {
      const operations = keys.map((key) => ({ op: 'put', ...key, data: { n } }))
      const written = ask(writer!, 'POST', '/v1/app/notes/batch', { operations })
      await Promise.all(readers.map(read))
      expect((await written).status).toBe(200)
      expect(await Promise.all(readers.map(read))).toEqual(readers.map(() => n))
    }
    expect(states.size).toBeGreaterThanOrEqual(60)
  })

  test('of writers in all processes that name the same version exactly one wins', async () => {
    await api.put('/v1/app/notes', { hashKey: 'race', data: {} })
    for (let round = 0; round < 10; round++) {
      const { updatedAt } = (await api.get('/v1/app/notes/race')).body
      const batch = (n: number) => ({
        operations: [{ op: 'put', hashKey: 'race', data: { n }, ifUpdatedAt: updatedAt }],
      })
      const answers = await Promise.all(connections.map((c, n) => ask(c, 'POST', '/v1/app/notes/batch', batch(n))))
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(23).fill(412)])
    }
  })

  test('of patches through all processes none is lost, and none is applied twice', async () => {
    const patches = 250
    let left = patches
    const versions = new Set<number>()
    await Promise.all(
      connections.map(async (connection) => {
        while (left-- > 0) {
          const change = { hashKey: 'counted', increment: { '/n': 1 }, append: { '/list': [left] } }
          const { status, body } = await ask(connection, 'PATCH', '/v1/app/notes', change)
          expect(status).toBe(200)
          versions.add(body.updatedAt)
        }
      }),
    )
    const { n, list } = (await api.get('/v1/app/notes/counted')).body.data
    expect([n, new Set(list).size, versions.size]).toEqual([patches, patches, patches])
  })

  test('a patch that is refused through a worker names its field', async () => {
    const change = { hashKey: 'refused', increment: { '/n': { by: -1, min: 0 } } }
    for (const connection of connections) {
      const { status, body } = await ask(connection, 'PATCH', '/v1/app/notes', change)
      expect([status, body.error.field]).toEqual([412, 'increment["/n"]'])
    }
  })

  test('updatedAt strictly increases, whichever process writes', async () => {
    const answers = await Promise.all(
      connections.map((connection, n) => ask(connection, 'PUT', '/v1/app/notes', { hashKey: 'versions', data: { n } })),
    )
    const versions = answers.map((answer) => answer.body.updatedAt as number)
    expect(new Set(versions).size).toBe(versions.length)
  })

  test('a key rolled through one process ends in every other from the moment of the answer', async () => {
    for (let round = 0; round < 3; round++) {
      const made = (await api.post('/api/keys', { kind: 'secret' })).body
      const before = await Promise.all(connections.map((one) => ask(one, 'GET', '/v1', undefined, made.key)))
      expect(new Set(before.map((answer) => answer.status))).toEqual(new Set([200]))
      const path = `/api/keys/${made.id}/roll`
      const rolled = (await ask(connections[round]!, 'POST', path, { expiresAt: 0 })).body
      const after = await Promise.all(connections.map((one) => ask(one, 'GET', '/v1', undefined, made.key)))
      expect(new Set(after.map((answer) => answer.body.error?.code))).toEqual(new Set(['revoked_api_key']))
      const next = await Promise.all(connections.map((one) => ask(one, 'GET', '/v1', undefined, rolled.key)))
      expect(new Set(next.map((answer) => answer.status))).toEqual(new Set([200]))
    }
  })

  test('a key revoked through one process is revoked in every other from the moment of the answer', async () => {
    for (let round = 0; round < 5; round++) {
      const made = (await api.post('/api/keys', { kind: 'secret' })).body
      const before = await Promise.all(connections.map((c) => ask(c, 'GET', '/v1', undefined, made.key)))
      expect(new Set(before.map((answer) => answer.status))).toEqual(new Set([200]))
      expect((await ask(connections[round]!, 'DELETE', `/api/keys/${made.id}`)).body.status).toBe('revoked')
      const after = await Promise.all(connections.map((c) => ask(c, 'GET', '/v1', undefined, made.key)))
      expect(new Set(after.map((answer) => answer.body.error?.code))).toEqual(new Set(['revoked_api_key']))
    }
  })

  test('a user revoked through one process is revoked in every other from the moment of the answer', async () => {
    ok(await api.post('/v1/app/users'), 201)
    const grants = [{ db: 'app', table: 'users', can: 'write' }]
    const make = async (): Promise<string> => ok(await api.post('/api/tokens', { user: 'ada', grants }), 201).token
    const statesOf = async (token: string): Promise<Set<unknown>> => {
      const put = { hashKey: 'a', data: {} }
      const answers = await Promise.all(
        connections.map((one, i) =>
          i % 2 === 0
            ? ask(one, 'GET', '/v1/app/users/a', undefined, token)
            : ask(one, 'PUT', '/v1/app/users', put, token),
        ),
      )
      return new Set(answers.map(({ status, body }) => body.error?.code ?? status))
    }
    ok(await api.put('/v1/app/users', { hashKey: 'a', data: {} }))
    for (let round = 0; round < 5; round++) {
      const token = await make()
      expect(await statesOf(token)).toEqual(new Set([200]))
      const revoked = await ask(connections[round]!, 'POST', '/api/tokens/revoke', { user: 'ada' })
      expect(revoked.status).toBe(200)
      expect(await statesOf(token)).toEqual(new Set(['revoked_token']))
      expect(await statesOf(await make())).toEqual(new Set([200]))
    }
  })

  test('an organization deleted by the command is gone in every process when it ends; restored, it is back', async () => {
    const org = await server.createOrganization()
    const ends = server.as(org.secretKey)
    await ends.post('/v1/app/notes')
    await ends.post('/v1/app/_buckets/pictures')
    const { url } = (await ends.put('/v1/app/_buckets/pictures/a.txt?visibility=public', 'open')).body
    const { pathname } = new URL(url)
    const tell = () => Promise.all(connections.map((c) => ask(c, 'GET', '/v1', undefined, org.secretKey)))
    const look = () => Promise.all(connections.map((c) => ask(c, 'GET', pathname)))
    const codes = (answers: { body: { error?: { code: string } } }[]) =>
      new Set(answers.map(({ body }) => body?.error?.code))
    for (const found of [await tell(), await look()])
      expect(new Set(found.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await server.cubby('orgs', 'delete', org.name, '--confirm', org.name)).exitCode).toBe(0)
    expect(codes(await tell())).toEqual(new Set(['invalid_api_key']))
    expect(codes(await look())).toEqual(new Set(['file_not_found']))
    expect((await server.cubby('orgs', 'restore', org.name)).exitCode).toBe(0)
    for (const found of [await tell(), await look()])
      expect(new Set(found.map(({ status }) => status))).toEqual(new Set([200]))
  })

  test('a table deleted through one process is gone in every other from the moment of the answer', async () => {
    await api.post('/v1/app/gone')
    await api.put('/v1/app/gone', { hashKey: 'a', data: {} })
    await Promise.all(connections.map((connection) => ask(connection, 'GET', '/v1/app/gone/a')))
    expect((await ask(connections[0]!, 'DELETE', '/v1/app/gone')).status).toBe(200)
    const after = await Promise.all(connections.map((connection) => ask(connection, 'GET', '/v1/app/gone/a')))
    expect(new Set(after.map((answer) => answer.body.error?.code))).toEqual(new Set(['table_not_found']))
    const writes = await Promise.all(
      connections.map((connection, n) => ask(connection, 'PUT', '/v1/app/gone', { hashKey: `w${n}`, data: {} })),
    )
    expect(new Set(writes.map((answer) => answer.body.error?.code))).toEqual(new Set(['table_not_found']))
  })
})

describe.skipIf(process.platform !== 'linux' || !storeIsEmbedded())('processes of serve --workers that end', () => {
  test('a worker that dies is replaced, and nothing that was answered is lost', async () => {
    const server = await startServer({ args: ['--workers', '2'] })
    try {
      const api = server.as((await server.createOrganization()).secretKey)
      await api.post('/v1/app/notes')
      await api.put('/v1/app/notes', { hashKey: 'a', data: { kept: true } })
      const [victim] = workersOf(server.pid)
      process.kill(victim!, 'SIGKILL')
      await eventually('two workers, none of them the dead one', () => {
        const now = workersOf(server.pid)
        return now.length === 2 && !now.includes(victim!) ? now : undefined
      })
      const read = await eventually('an answer', () => api.get('/v1/app/notes/a').catch(() => undefined))
      expect(read.body.data).toEqual({ kept: true })
      expect(server.logLines.join('\n')).toContain('a worker ended; starting another')
    } finally {
      await server.stop()
    }
  })

  test('when the owner of the store dies, its workers end: another may take the store', async () => {
    const server = await startServer({ args: ['--workers', '2'] })
    const workers = workersOf(server.pid)
    await server.kill()
    await eventually('the workers to end', () => (workers.some(isAlive) ? undefined : true))
    await server.restart()
    await server.stop()
  })

  // Its engine is loaded before it can listen for that. Missed, a process would serve a store that another may own.
  test('a worker whose owner is gone before it has opened the store ends', async () => {
    const server = await startServer()
    await server.end('SIGTERM')
    const worker = Bun.spawn([...cubbyCommand(), 'serve', '--data', server.dataDir], {
      env: { ...process.env, CUBBY_WORKER_PORT: '0' },
      stdio: ['ignore', 'ignore', 'ignore'],
      ipc() {},
    })
    try {
      worker.disconnect()
      await eventually('the worker to end', () => (isAlive(worker.pid) ? undefined : true))
      expect(await worker.exited).toBe(1)
    } finally {
      worker.kill('SIGKILL')
      server.remove()
    }
  })

  test('a stop finishes what was accepted and exits 0', async () => {
    const server = await startServer({ args: ['--workers', '2'] })
    const { secretKey } = await server.createOrganization()
    await server.as(secretKey).post('/v1/app/notes')
    const body = JSON.stringify({ hashKey: 'late', data: {} })
    const connection = await connectRaw(server.port)
    connection.send(
      `PUT /v1/app/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secretKey}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    )
    await Bun.sleep(50)
    const ended = server.end('SIGTERM')
    await Bun.sleep(50)
    connection.send(body.slice(5))
    expect((await connection.answer()).status).toBe(200)
    expect(await ended).toBe(0)
    connection.close()
    server.remove()
  })
})
