import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Api, makeTempDir, removeTempDir, runCubby, type Server, startServer } from './harness.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// Two server processes on one PostgreSQL, none of them special. Without these promises a client that a balancer sends
// elsewhere would go on with a key that was taken from it, or overwrite what it has not seen.

setDefaultTimeout(60_000)

let postgres: PostgresServer
let servers: Server[]
let apis: Api[]
let url: string

beforeAll(async () => {
  postgres = await startPostgres({ auth: 'password' })
  url = await postgres.createDatabase()
  servers = await Promise.all([0, 1].map(() => startServer({ args: ['--store', url] })))
  const made = await runCubby(['orgs', 'create', 'shared', '--store', url, '--json'])
  const { secretKey } = JSON.parse(made.stdout)
  apis = servers.map((server) => server.as(secretKey))
  await apis[0]!.post('/v1/app/notes')
})
afterAll(async () => {
  for (const server of servers) await server.stop()
  await postgres.remove()
})

test('a key revoked through one process is revoked for the other from the moment of the answer', async () => {
  const made = (await apis[0]!.post('/api/keys', { kind: 'secret' })).body
  for (const server of servers) expect((await server.as(made.key).get('/v1')).status).toBe(200)
  await apis[0]!.delete(`/api/keys/${made.id}`)
  for (const server of servers) expect((await server.as(made.key).get('/v1')).body.error.code).toBe('revoked_api_key')
})

test('a key revoked by the command is revoked for both from the moment it exits', async () => {
  const made = (await apis[0]!.post('/api/keys', { kind: 'secret' })).body
  for (const server of servers) expect((await server.as(made.key).get('/v1')).status).toBe(200)
  expect((await runCubby(['keys', 'revoke', made.id, '--org', 'shared', '--store', url])).exitCode).toBe(0)
  for (const server of servers) expect((await server.as(made.key).get('/v1')).body.error.code).toBe('revoked_api_key')
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
