import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { endAllServing, spawnServe } from './cli/serve-process.ts'
import { type Api, eventually, makeTempDir, removeTempDir, runCubby, type Server, startServer } from './harness.ts'
import { ok } from './http/service.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// Two server processes on one PostgreSQL, none of them special. Without these promises a client that a balancer sends
// elsewhere would go on with a key that was taken from it, or overwrite what it has not seen.

setDefaultTimeout(120_000)

let postgres: PostgresServer
let servers: Server[]
let apis: Api[]
let url: string
let files: string

beforeAll(async () => {
  postgres = await startPostgres({ auth: 'password' })
  url = await postgres.createDatabase()
  files = makeTempDir()
  servers = await Promise.all([0, 1].map(() => startServer({ args: ['--store', url], files, clock: true })))
  const made = await runCubby(['orgs', 'create', 'shared', '--store', url, '--json'])
  const { secretKey } = JSON.parse(made.stdout)
  apis = servers.map((server) => server.as(secretKey))
  await apis[0]!.post('/v1/app/notes')
})
afterAll(async () => {
  await endAllServing()
  for (const server of servers) await server.stop()
  await postgres.remove()
  removeTempDir(files)
})

test('a key revoked through one process is revoked for the other from the moment of the answer', async () => {
  const made = (await apis[0]!.post('/api/keys', { kind: 'secret' })).body
  for (const server of servers) expect((await server.as(made.key).get('/v1')).status).toBe(200)
  await apis[0]!.delete(`/api/keys/${made.id}`)
  for (const server of servers) expect((await server.as(made.key).get('/v1')).body.error.code).toBe('revoked_api_key')
})

test('a key rolled through one process ends for the other from the moment of the answer', async () => {
  const made = (await apis[0]!.post('/api/keys', { kind: 'secret' })).body
  for (const server of servers) expect((await server.as(made.key).get('/v1')).status).toBe(200)
  const rolled = (await apis[0]!.post(`/api/keys/${made.id}/roll`, { expiresAt: 0 })).body
  for (const server of servers) {
    expect((await server.as(made.key).get('/v1')).body.error.code).toBe('revoked_api_key')
    expect((await server.as(rolled.key).get('/v1')).status).toBe(200)
  }
})

test('a key revoked by the command is revoked for both from the moment it exits', async () => {
  const made = (await apis[0]!.post('/api/keys', { kind: 'secret' })).body
  for (const server of servers) expect((await server.as(made.key).get('/v1')).status).toBe(200)
  expect((await runCubby(['keys', 'revoke', made.id, '--org', 'shared', '--store', url])).exitCode).toBe(0)
  for (const server of servers) expect((await server.as(made.key).get('/v1')).body.error.code).toBe('revoked_api_key')
})

test('a user revoked through one process is revoked for the other from the moment of the answer, writes in flight too', async () => {
  ok(await apis[0]!.post('/v1/app/users'), 201)
  const grants = [{ db: 'app', table: 'users', can: 'write' }]
  const make = async (): Promise<string> => ok(await apis[1]!.post('/api/tokens', { user: 'ada', grants }), 201).token
  for (let round = 0; round < 3; round++) {
    const token = await make()
    const [here, there] = servers.map((server) => server.as(token)) as [Api, Api]
    const put = (api: Api, i: number) => api.put('/v1/app/users', { hashKey: `${round} ${i}`, data: {} })
    for (const api of [here, there]) expect((await put(api, 0)).status).toBe(200)
    let isAnswered = false
    let i = 0
    const late: string[] = []
    const writing = Array.from({ length: 8 }, async (_, writer) => {
      for (let wrote = 200; wrote === 200; ) {
        const isAfter = isAnswered
        const answer = await put(writer % 2 === 0 ? here : there, ++i)
        wrote = answer.status
        if (wrote === 200 && isAfter) late.push(answer.text)
        else if (wrote !== 200) expect(answer.body.error.code).toBe('revoked_token')
      }
    })
    ok(await apis[0]!.post('/api/tokens/revoke', { user: 'ada' }))
    isAnswered = true
    const count = async () => ok(await apis[1]!.post('/v1/app/users/query', { index: 't', select: 'count' })).count
    const applied = await count()
    await Promise.all(writing)
    expect(late).toEqual([])
    // What was in flight when the revocation was answered was not applied.
    expect(await count()).toBe(applied)
    expect((await put(servers[1]!.as(await make()), 0)).status).toBe(200)
  }
})

test('a table deleted through one process is gone for the other, its writes too; made anew it is there at once', async () => {
  await apis[0]!.post('/v1/app/gone')
  for (const api of apis) expect((await api.put('/v1/app/gone', { hashKey: 'a', data: {} })).status).toBe(200)
  await apis[0]!.delete('/v1/app/gone')
  expect((await apis[1]!.get('/v1/app/gone/a')).body.error.code).toBe('table_not_found')
  expect((await apis[1]!.put('/v1/app/gone', { hashKey: 'b', data: {} })).body.error.code).toBe('table_not_found')
  expect((await apis[0]!.post('/v1/app/gone')).status).toBe(201)
  expect((await apis[1]!.get('/v1/app/gone/a')).body.error.code).toBe('record_not_found')
})

test('of equal requests with one idempotency key through both processes one is applied, and all get its answer', async () => {
  await apis[0]!.post('/v1/app/once')
  for (let round = 0; round < 10; round++) {
    const headers = { 'idempotency-key': `round-${round}` }
    const count = { hashKey: 'n', increment: { '/n': 1 } }
    const batch = { operations: [{ op: 'put', hashKey: `b${round}`, data: {}, ifUpdatedAt: null }] }
    const patches = Array.from({ length: 20 }, (_, i) => apis[i % 2]!.request('PATCH', '/v1/app/once', count, headers))
    const answers = await Promise.all(patches)
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(answers.filter((answer) => !answer.headers.has('idempotency-replayed'))).toHaveLength(1)
    expect(new Set(answers.map((answer) => answer.headers.get('etag'))).size).toBe(1)
    const other = { 'idempotency-key': `batch-${round}` }
    const batches = await Promise.all([0, 1, 0, 1].map((i) => apis[i]!.post('/v1/app/once/batch', batch, other)))
    expect(batches.map(({ status }) => status)).toEqual(Array(4).fill(200))
    // Another request under the key through the other process.
    const different = await apis[round % 2]!.request('PATCH', '/v1/app/once', { ...count, merge: { round } }, headers)
    expect(different.body.error.code).toBe('idempotency_key_reused')
  }
  expect((await apis[1]!.get('/v1/app/once/n')).body.data).toEqual({ n: 10 })
})

test('a key that one process applied and died with is answered by the other', async () => {
  const sent = Array.from({ length: 10 }, (_, i) =>
    apis[0]!
      .request(
        'PATCH',
        '/v1/app/once',
        { hashKey: `d${i}`, increment: { '/n': 1 } },
        { 'idempotency-key': `death-${i}` },
      )
      .catch(() => undefined),
  )
  await Promise.race(sent)
  await servers[0]!.kill()
  await Promise.all(sent)
  try {
    for (let i = 0; i < 10; i++) {
      const body = { hashKey: `d${i}`, increment: { '/n': 1 } }
      const again = () => apis[1]!.request('PATCH', '/v1/app/once', body, { 'idempotency-key': `death-${i}` })
      expect([(await again()).status, (await again()).headers.get('idempotency-replayed')]).toEqual([200, 'true'])
      expect((await apis[1]!.get(`/v1/app/once/d${i}`)).body.data).toEqual({ n: 1 })
    }
  } finally {
    await servers[0]!.start()
  }
})

test('of writers in both processes that name the same version exactly one wins, and versions strictly increase', async () => {
  await apis[0]!.put('/v1/app/notes', { hashKey: 'race', data: {} })
  let last = 0
  for (let round = 0; round < 10; round++) {
    const { updatedAt } = (await apis[round % 2]!.get('/v1/app/notes/race')).body
    expect(updatedAt).toBeGreaterThan(last)
    last = updatedAt
    const writes = Array.from({ length: 16 }, (_, n) =>
      apis[n % 2]!.put('/v1/app/notes', { hashKey: 'race', data: { n } }, { 'if-match': `"${updatedAt}"` }),
    )
    const statuses = (await Promise.all(writes)).map((answer) => answer.status).sort()
    expect(statuses).toEqual([200, ...Array(15).fill(412)])
  }
})

test('of patches through both processes none is lost, and none is refused because of another', async () => {
  const patches = 120
  const answers = await Promise.all(
    Array.from({ length: patches }, (_, n) => {
      const change = { hashKey: 'counted', increment: { '/n': 1 }, append: { '/list': [n] }, merge: { [`m${n}`]: n } }
      return apis[n % 2]!.request('PATCH', '/v1/app/notes', change)
    }),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(patches).fill(200))
  const { n, list, ...merged } = (await apis[0]!.get('/v1/app/notes/counted')).body.data
  expect([n, new Set(list).size, Object.keys(merged).length]).toEqual([patches, patches, patches])
})

test('what one process answered the other reads', async () => {
  for (let i = 0; i < 20; i++) {
    await apis[i % 2]!.put('/v1/app/notes', { hashKey: 'seen', data: { i } })
    expect((await apis[(i + 1) % 2]!.get('/v1/app/notes/seen')).body.data).toEqual({ i })
  }
})

// A check that finds nothing in the wrong database, or a copy of nothing, would be taken for a success; and the tables that
// it left behind for a store.
test('where no store is, commands that need one say so, exit 1, and make none', async () => {
  const empty = await postgres.createDatabase()
  const target = makeTempDir()
  try {
    const commands = [
      ['verify', '--store', empty],
      ['verify', '--store', empty, '--json'],
      ['orgs', 'list', '--store', empty],
      ['keys', 'list', '--org', 'shared', '--store', empty],
      ['keys', 'create', '--org', 'shared', '--kind', 'secret', '--store', empty],
      ['keys', 'revoke', 'key_1', '--org', 'shared', '--store', empty],
      ['export', '--db', 'app', '--store', empty],
      ['import', '-', '--store', empty],
      ['copy', '--from', empty, '--to', join(target, 'data')],
    ]
    for (const args of commands) {
      const { exitCode, stdout, stderr } = await runCubby(args)
      expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 1, stdout: '' })
      expect(stderr).toMatch(/^cubby: there is no store in [^\n]+\n$/)
      expect(stderr).not.toContain(new URL(empty).password || 'no password')
    }
    expect(await postgres.query(`select to_regclass('cubby_store') as store`, empty)).toEqual([{ store: null }])
    expect(existsSync(join(target, 'data'))).toBe(false)
    // And where one is, they find it.
    expect((await runCubby(['orgs', 'create', 'first', '--store', empty])).exitCode).toBe(0)
    expect((await runCubby(['verify', '--store', empty])).exitCode).toBe(0)
  } finally {
    removeTempDir(target)
  }
})

// ── Files ──────────────────────────────────────────────────────────────────────────────────────────────────

const file = '/v1/app/_buckets/avatars/cats/tom.txt'
/** Chunked: the bytes of a small file with a declared length are in the store. */
const upload = ({ server, key }: Api, text: string) =>
  server.request('PUT', file, { key, body: text, headers: { 'content-type': 'text/plain' }, chunked: true })
const download = async ({ server, key }: Api): Promise<[number, string]> => {
  const answer = await fetch(server.url + file, { headers: { authorization: `Bearer ${key}` } })
  return [answer.status, await answer.text()]
}
const blobs = (): string[] =>
  readdirSync(files, { recursive: true, encoding: 'utf8' }).filter((name) => /\/[0-9a-f]{32}$/.test(name))

test('a bucket made through one process is there for the other, with the same id; deleted, it is gone', async () => {
  const made = (await apis[0]!.post('/v1/app/_buckets/gone')).body
  expect((await apis[1]!.post('/v1/app/_buckets/gone')).body).toEqual(made)
  await apis[1]!.delete('/v1/app/_buckets/gone')
  expect((await apis[0]!.get('/v1/app/_buckets/gone')).body.error.code).toBe('bucket_not_found')
  expect((await apis[0]!.post('/v1/app/_buckets/gone/restore')).body).toEqual(made)
  expect((await apis[1]!.get('/v1/app/_buckets/gone')).body).toEqual(made)
})

test('a file that one process stored the other reads, from the one place of both', async () => {
  await apis[0]!.post('/v1/app/_buckets/avatars')
  for (let i = 0; i < 4; i++) {
    expect((await upload(apis[i % 2]!, `version ${i}`)).status).toBe(200)
    for (const api of apis) expect(await download(api)).toEqual([200, `version ${i}`])
  }
})

test('the sweeps of both remove what was replaced after an hour, and nothing else', async () => {
  await upload(apis[0]!, 'last')
  expect(blobs().length).toBeGreaterThan(1)
  for (const server of servers) server.setClock(66 * 60_000)
  await eventually('only the bytes of the file are left', () => (blobs().length === 1 ? true : undefined))
  for (const server of servers) server.setClock(0)
  for (const api of apis) expect(await download(api)).toEqual([200, 'last'])
})

test('an organization deleted by the command is gone for both when it ends, its files and writes too; restored, it is back', async () => {
  const { secretKey } = JSON.parse((await runCubby(['orgs', 'create', 'ends', '--store', url, '--json'])).stdout)
  const both = servers.map((server) => server.as(secretKey))
  await both[0]!.post('/v1/app/notes')
  await both[0]!.post('/v1/app/_buckets/pictures')
  const open = (await both[0]!.put('/v1/app/_buckets/pictures/a.txt?visibility=public', 'open')).body
  const look = (server: Server) => fetch(server.url + new URL(open.url).pathname).then(({ status }) => status)
  // Both write all the time: what was in flight when the command ended must not appear afterwards.
  const answers: number[] = []
  let isOver = false
  const write = async (api: Api, from: string): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      answers.push((await api.put('/v1/app/notes', { hashKey: `${from}-${i}`, data: {} })).status)
    }
  }
  const writing = both.map((api, i) => write(api, `w${i}`))
  await eventually('writes', () => (answers.length > 20 ? true : undefined))
  for (const server of servers) expect(await look(server)).toBe(200)
  expect((await runCubby(['orgs', 'delete', 'ends', '--confirm', 'ends', '--store', url])).exitCode).toBe(0)
  const stored = () => postgres.query(`select count(*)::int as rows from cubby_record_8`, url)
  const atEnd = await stored()
  for (const [i, server] of servers.entries()) {
    expect((await both[i]!.get('/v1')).body.error.code).toBe('invalid_api_key')
    expect(await look(server)).toBe(404)
  }
  isOver = true
  await Promise.all(writing)
  expect(await stored()).toEqual(atEnd)
  expect((await runCubby(['orgs', 'restore', 'ends', '--store', url])).exitCode).toBe(0)
  for (const [i, server] of servers.entries()) {
    expect((await both[i]!.get('/v1')).status).toBe(200)
    expect(await look(server)).toBe(200)
  }
  const query = { index: 't', select: 'count' }
  expect((await both[1]!.post('/v1/app/notes/query', query)).body.count).toBe(
    answers.filter((one) => one === 200).length,
  )
})

test('a process without --files serves everything but bytes: 503 that names the flag', async () => {
  const server = await startServer({ args: ['--store', url], files: null })
  try {
    const api = server.as(apis[0]!.key)
    expect((await api.get('/v1/app/notes')).status).toBe(200)
    expect((await api.get('/v1/app/_buckets/avatars')).status).toBe(200)
    expect((await api.get(`${file}?record=true`)).status).toBe(200)
    for (const { status, body } of [await upload(api, 'x'), await api.get(file)]) {
      expect([status, body.error.code]).toEqual([503, 'unavailable'])
      expect(body.error.hint).toContain('--files')
    }
  } finally {
    await server.stop()
  }
})

test('a process with another place does not start', async () => {
  const other = makeTempDir()
  const { exitCode, stderr } = await runCubby(['serve', '--store', url, '--port', '0', '--files', other])
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^cubby: \S+ is not where the files of this store are\. It has no mark[^\n]*\n$/)
  removeTempDir(other)
})

test('a process that was running with another place before the first upload: 503 and a line in the log', async () => {
  const [database, here, there] = [await postgres.createDatabase(), makeTempDir(), makeTempDir()]
  const both = await Promise.all(
    [here, there].map((place) => startServer({ args: ['--store', database], files: place })),
  )
  try {
    const made = await runCubby(['orgs', 'create', 'shared', '--store', database, '--json'])
    const [first, second] = both.map((server) => server.as(JSON.parse(made.stdout).secretKey)) as [Api, Api]
    await first.post('/v1/app/_buckets/avatars')
    expect((await upload(first, 'tom')).status).toBe(200)
    expect((await upload(second, 'tim')).status).toBe(503)
    expect((await download(second))[0]).toBe(503)
    expect(await download(first)).toEqual([200, 'tom'])
    expect(readdirSync(there)).toEqual([])
    const line = 'the place of the files cannot be used; requests for files are answered with 503'
    expect(both[1]!.log.filter(({ message }) => message === line).length).toBe(1)
  } finally {
    for (const server of both) await server.stop()
    for (const place of [here, there]) removeTempDir(place)
  }
})

// Without this there would be a key that nobody knows of, or a link that the other process never made.
test('of two processes that start at once on an empty store, one prints the sign-in link, which works at both', async () => {
  // The other place is that of another store.
  const args = ['--store', await postgres.createDatabase(), '--port', '0', '--files', join(files, 'other')]
  const both = [0, 1].map(() => spawnServe({ dataDir: files, bare: true, args }))
  await Promise.all(both.map(({ ready }) => ready))
  const links = () => both.flatMap(({ stdout }) => Array.from(stdout.matchAll(/#key=(\S+)\n/g), ([, key]) => key!))
  await eventually('both greetings', () => (both.every(({ stdout }) => /\/docs\n/.test(stdout)) ? true : undefined))
  await eventually('the link', () => (links().length > 0 ? true : undefined))
  for (const { server } of both) {
    const { keys } = (await server.as(links()[0]!).get('/api/keys')).body
    expect(keys.map(({ name }: { name: string | null }) => name).sort()).toEqual(['console sign-in link', null, null])
  }
  for (const serving of both) expect(await serving.end()).toBe(0)
  expect(links().length).toBe(1)
})
