import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Api,
  type Json,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
} from '../harness.ts'
import { ok } from '../http/service.ts'
import { asClient, asOperator, expectDone, linesOf, runCommand, writeLines } from './commands.ts'

// Tasks that follow tables, at a shell. What a command writes must be followed as what a program writes, also without a
// server, and no command may lose what a task follows.

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let api: Api
let dir: string
let databases = 0

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer()
  org = await server.createOrganization('acme')
  api = server.as(org.secretKey)
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

const run = (args: string[], stdin?: string) => runCommand(args, { stdin, env: asClient(server, org) })
const object = async (args: string[]): Promise<Json> => {
  const { exitCode, stdout, stderr } = await run(args)
  expect({ exitCode, stderr, args }).toEqual({ exitCode: 0, stderr: '', args })
  return JSON.parse(stdout)
}

/** A database of the test's own with a table `orders`. */
const newDb = async (): Promise<string> => {
  const db = `db-${++databases}`
  ok(await api.post(`/v1/${db}/orders`), 201)
  return db
}

/** Declares the task `index` by the command. */
const declare = (db: string, ...flags: string[]): Promise<Json> =>
  object(['tasks', 'declare', 'index', '--db', db, '--on', 'orders', ...flags])

const queued = async (db: string): Promise<string[]> => {
  const { items } = ok(await api.post(`/v1/${db}/_tasks/index/query`, { status: 'queued', limit: 100 }))
  return items.map(({ key, payload }: Json) => `${payload.op} ${key}`).sort()
}

const record = (db: string, hashKey: string, more: object = {}) => ({ db, table: 'orders', hashKey, data: {}, ...more })
const ops = ['put', 'delete', 'expire']

describe('declare', () => {
  test('--on names the table, --on-ops some of the writes; without them that ends', async () => {
    const db = await newDb()
    expect((await declare(db)).on).toEqual({ table: 'orders', ops })
    expect((await declare(db, '--on-ops', 'put, delete')).on).toEqual({ table: 'orders', ops: ['put', 'delete'] })
    const described = await object(['tasks', 'describe', 'index', '--db', db])
    expect(described.on).toEqual({ table: 'orders', ops: ['put', 'delete'] })
    expect((await object(['tasks', 'list', '--db', db, '--json'])).on).toEqual(described.on)
    expect((await object(['tasks', 'declare', 'index', '--db', db])).on).toBeNull()
  })

  test('pause and resume keep it', async () => {
    const db = await newDb()
    const { updatedAt: _, ...declared } = await declare(db, '--on-ops', 'delete', '--attempts', '3')
    expect(await object(['tasks', 'pause', 'index', '--db', db])).toMatchObject({ ...declared, paused: true })
    expect(await object(['tasks', 'resume', 'index', '--db', db])).toMatchObject(declared)
  })

  test('what cannot be followed is refused in the words of the shell', async () => {
    const db = await newDb()
    const words = ['tasks', 'declare', 'index', '--db', db]
    const refusals: [string[], number, RegExp][] = [
      [['--on', 'invoices'], 1, /There is no table invoices.*cubby table create invoices/],
      [['--on', 'orders', '--on-ops', 'put,patch'], 2, /^cubby: --on-ops is "put,patch"; .*put,delete,expire/],
      [['--on', 'orders', '--on-ops', 'put,put'], 2, /^cubby: --on-ops is "put,put"; .*each once/],
      [['--on', 'orders', '--on-ops', ''], 2, /--on-ops/],
      [['--on-ops', 'put'], 2, /--on-ops needs --on/],
    ]
    for (const [flags, code, said] of refusals) {
      const { exitCode, stdout, stderr } = await run([...words, ...flags])
      expect({ flags, exitCode, stdout }).toEqual({ flags, exitCode: code, stdout: '' })
      expect(stderr).toMatch(said)
    }
    expect(ok(await api.get(`/v1/${db}/_tasks`)).tasks).toEqual([])
    for (let i = 0; i < 5; i++) await object(['tasks', 'declare', `t${i}`, '--db', db, '--on', 'orders'])
    const { exitCode, stderr } = await run([...words, '--on', 'orders'])
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/t0, t1, t2, t3, t4.*cubby tasks drop t0/)
  })
})

describe('every command that writes adds a run', () => {
  test('put, patch and delete', async () => {
    const db = await newDb()
    await declare(db)
    const at = ['--db', db, '--table', 'orders']
    await object(['put', ...at, 'a', 'r', '--data', '{}'])
    await object(['put', ...at, 'b', '--data', '{}'])
    await object(['patch', ...at, 'c', '--increment', '{"/n":1}'])
    await object(['delete', ...at, 'b'])
    expect(await queued(db)).toEqual(['delete ["b"]', 'put ["a","r"]', 'put ["c"]'])
  })

  test('import through a server', async () => {
    const db = await newDb()
    await declare(db)
    const lines = [record(db, 'a'), record(db, 'b', { rangeKey: 'r' }), record(db, 'old', { ttl: 1_500_000_000 })]
    await expectDone(['import', writeLines(join(dir, `${db}.ndjson`), lines)], { env: asClient(server, org) })
    expect(await queued(db)).toEqual(['put ["a"]', 'put ["b","r"]'])
  })

  test('import into the store itself, without a server; what is there already is not written', async () => {
    const own = await startServer()
    try {
      const owner = await own.createOrganization('own')
      let caller = own.as(owner.secretKey)
      ok(await caller.post('/v1/app/orders'), 201)
      ok(await caller.put('/v1/app/_tasks/index', { on: { table: 'orders', ops: ['put'] } }), 201)
      await own.end('SIGTERM')
      const lines = [record('app', 'a', { updatedAt: 1_700_000_000_000 }), record('app', 'b', { rangeKey: 'r' })]
      const file = writeLines(join(dir, 'own.ndjson'), lines)
      await expectDone(['import', file, ...asOperator(own.dataDir, owner)])
      await own.start()
      caller = own.as(owner.secretKey)
      const claimed = ok(await caller.post('/v1/app/_tasks/index/claim', { limit: 10 })).runs
      const told = claimed.map(({ key, payload }: Json) => [key, payload.op, payload.updatedAt])
      const { updatedAt } = ok(await caller.get('/v1/app/orders/b/r'))
      expect(told.sort()).toEqual([
        ['["a"]', 'put', 1_700_000_000_000],
        ['["b","r"]', 'put', updatedAt],
      ])
      await own.end('SIGTERM')
      const again = writeLines(join(dir, 'again.ndjson'), lines.slice(0, 1))
      await expectDone(['import', again, ...asOperator(own.dataDir, owner)])
      await own.start()
      expect(ok(await own.as(owner.secretKey).post('/v1/app/_tasks/index/query', { status: 'queued' })).items).toEqual(
        [],
      )
    } finally {
      await own.stop()
    }
  })
})

test('orgs export writes what a task follows, and an export of the table is imported into a followed one', async () => {
  const db = await newDb()
  await declare(db, '--on-ops', 'put')
  ok(await api.put(`/v1/${db}/orders`, { hashKey: 'a', data: {} }))
  const to = join(dir, 'exported')
  await expectDone(['orgs', 'export', 'acme', '--to', to, ...asOperator(server.dataDir, org).slice(0, -2)])
  const task = JSON.parse(readFileSync(join(to, db, '_tasks/index/task.json'), 'utf8'))
  expect(task.on).toEqual({ table: 'orders', ops: ['put'] })
  const [run] = linesOf(readFileSync(join(to, db, '_tasks/index/runs.ndjson'), 'utf8')).map((line) => JSON.parse(line))
  expect(run).toMatchObject({ key: '["a"]', payload: { op: 'put', table: 'orders', hashKey: 'a' } })
  const target = await newDb()
  await declare(target)
  const records = join(to, db, 'records.ndjson')
  await expectDone(['import', records, '--db', target], { env: asClient(server, org) })
  expect(await queued(target)).toEqual(['put ["a"]'])
})
