import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { type Answer, type Api, makeTempDir, removeTempDir, runCubby, startServer } from './harness.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

setDefaultTimeout(60_000)

// A store that has outgrown its machine moves once. What the copy forgets or changes is lost for good.

const main = join(import.meta.dir, '../src/main.ts')
const records = 6_000

/** Everything that a key can see, as the texts of the answers. */
const readAll = async (api: Api): Promise<string[]> => {
  const texts: string[] = []
  const page = async (path: string, body?: object): Promise<void> => {
    for (let cursor: string | null = null; ; ) {
      const answer: Answer = body === undefined ? await api.get(path) : await api.post(path, { ...body, cursor })
      // The last use of a key is written in the background, also of the one that reads here.
      texts.push(answer.text.replace(/"lastUsedAt":\d+/g, '"lastUsedAt":0'))
      cursor = answer.body.cursor ?? null
      if (cursor === null) return
    }
  }
  await page('/v1')
  await page('/v1/app')
  await page('/v1/app?deleted=true')
  await page('/api/keys')
  await page('/v1/app/orders/query', { index: 't', ascending: true, limit: 1000 })
  await page('/v1/app/orders/query', { index: 'i1', hash: 'open', limit: 1000 })
  await page('/v1/app/odd/query', { hash: 'a\u0000/😀' })
  return texts
}

const copy = (from: string, to: string, ...more: string[]) => runCubby(['copy', '--from', from, '--to', to, ...more])

describe('cubby copy', () => {
  let postgres: PostgresServer
  let url: string
  let source: string
  let secretKey: string
  let cursor: string
  let before: string[]
  const dirs: string[] = []
  const makeDir = (): string => {
    const dir = makeTempDir()
    dirs.push(dir)
    return join(dir, 'data')
  }

  beforeAll(async () => {
    postgres = await startPostgres({ auth: 'password' })
    url = await postgres.createDatabase()
    source = makeDir()
    const server = await startServer({ dataDir: source })
    secretKey = (await server.createOrganization('first')).secretKey
    await server.createOrganization('second')
    const api = server.as(secretKey)
    await api.post('/v1/app/orders', {
      indices: { i1: { hashField: 'status', rangeField: 'n' }, i3: { hashField: 'n' } },
    })
    for (let start = 0; start < records; start += 25) {
      const operations = Array.from({ length: 25 }, (_, i) => ({
        op: 'put',
        hashKey: `u${(start + i) % 97}`,
        rangeKey: `o${start + i}`,
        data: { status: i % 2 === 0 ? 'open' : 'done', n: i % 5, text: 'x'.repeat(200) },
      }))
      await api.post('/v1/app/orders/batch', { operations })
    }
    await api.post('/v1/app/odd')
    const odd =
      '{ "hashKey": "a\\u0000/😀", "rangeKey": "\\u0001é", "data": {"n":1.0, "n": 12345678901234567890} , "ttl": 9999999999}'
    await api.raw('PUT', '/v1/app/odd', { body: odd })
    await api.post('/v1/app/gone')
    await api.put('/v1/app/gone', { hashKey: 'kept', data: { here: true } })
    await api.delete('/v1/app/gone')
    const made = (await api.post('/api/keys', { kind: 'public', name: 'reader', databases: ['app'] })).body
    await api.delete(`/api/keys/${made.id}`)
    cursor = (await api.post('/v1/app/orders/query', { index: 'i1', hash: 'open', limit: 10 })).body.cursor
    await server.restart()
    before = await readAll(server.as(secretKey))
    await server.stop()
  })
  afterAll(async () => {
    await postgres.remove()
    for (const dir of dirs) removeTempDir(dir)
  })

  test('there and back ends equal, and every answer is what it was', async () => {
    const there = await copy(source, url, '--json')
    expect(JSON.parse(there.stdout)).toEqual({ ok: true, records: records + 2, files: 0, differences: [] })
    const back = makeDir()
    const again = await copy(url, back)
    expect(again.stdout).toContain('the two stores are equal')
    expect(again.exitCode).toBe(0)
    expect((await runCubby(['verify', '--data', back])).exitCode).toBe(0)
    const server = await startServer({ dataDir: back })
    expect(await readAll(server.as(secretKey))).toEqual(before)
    await server.stop()
  })

  test('on the new engine keys and cursors still work, a soft-deleted table can be restored, and new records sort after the old ones', async () => {
    const server = await startServer({ args: ['--store', url] })
    const api = server.as(secretKey)
    expect(await readAll(api)).toEqual(before)
    const next = await api.post('/v1/app/orders/query', { index: 'i1', hash: 'open', limit: 10, cursor })
    expect(next.status).toBe(200)
    await api.put('/v1/app/orders', { hashKey: 'new', data: { status: 'open', n: 4 } })
    const last = await api.post('/v1/app/orders/query', { index: 'i1', hash: 'open', ascending: false, limit: 1 })
    expect(last.body.items[0].hashKey).toBe('new')
    await api.post('/v1/app/gone/restore')
    expect((await api.get('/v1/app/gone/kept')).body.data).toEqual({ here: true })
    expect((await api.post('/v1/app/fresh')).status).toBe(201)
    expect((await api.post('/api/keys', { kind: 'public' })).status).toBe(201)
    await server.stop()
  })

  // A cursor shows nothing and works only with its store's key. A copy without the key would refuse the cursors of all clients.
  describe('a store that was made on PostgreSQL', () => {
    const query = { index: 'i1', hash: 'open', limit: 10 }
    let made: string
    let key: string
    let first: Answer
    let second: Answer
    const keyOf = async (store: string) =>
      (
        await postgres.query(`select encode(cursor_key, 'hex') as key, accepts_plain_cursors from cubby_store`, store)
      )[0]

    beforeAll(async () => {
      made = await postgres.createDatabase()
      const server = await startServer({ store: made })
      key = (await server.createOrganization('third')).secretKey
      const api = server.as(key)
      await api.post('/v1/app/orders', { indices: { i1: { hashField: 'status' } } })
      for (let i = 0; i < 30; i++) await api.put('/v1/app/orders', { hashKey: `u${i}`, data: { status: 'open' } })
      first = await api.post('/v1/app/orders/query', query)
      second = await api.post('/v1/app/orders/query', { ...query, cursor: first.body.cursor })
      await server.stop()
      expect([first.status, second.status, second.body.items?.length]).toEqual([200, 200, 10])
    })

    const expectSameCursors = async (api: Api): Promise<void> => {
      expect((await api.post('/v1/app/orders/query', query)).text).toBe(first.text)
      const next = await api.post('/v1/app/orders/query', { ...query, cursor: first.body.cursor })
      expect(next.text).toBe(second.text)
    }

    test('is copied to another PostgreSQL with its cursor key', async () => {
      const target = await postgres.createDatabase()
      expect((await copy(made, target)).exitCode).toBe(0)
      expect(await keyOf(target)).toEqual(await keyOf(made))
      const server = await startServer({ store: target })
      await expectSameCursors(server.as(key))
      await server.stop()
    })

    test('is copied to the embedded engine and back with its cursor key', async () => {
      const [target, back] = [makeDir(), await postgres.createDatabase()]
      expect((await copy(made, target)).exitCode).toBe(0)
      const embedded = await startServer({ dataDir: target })
      await expectSameCursors(embedded.as(key))
      await embedded.stop()
      expect((await copy(target, back)).exitCode).toBe(0)
      expect(await keyOf(back)).toEqual(await keyOf(made))
    })

    test('has its key in the target after a resumed copy too', async () => {
      const target = await postgres.createDatabase()
      await copy(made, target)
      await postgres.query(`update cubby_store set cursor_key = decode(repeat('ab', 32), 'hex')`, target)
      expect((await copy(made, target, '--resume')).exitCode).toBe(0)
      expect(await keyOf(target)).toEqual(await keyOf(made))
    })
  })

  test('a target that is not empty is refused in one line, and stays as it is', async () => {
    const refused = await copy(source, url)
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr.trim().split('\n')).toHaveLength(1)
    expect(refused.stderr).toContain('not empty')
    expect(refused.stderr).not.toContain('p@ss')
  })

  test('an interrupted copy continues where it stopped and ends equal', async () => {
    const target = makeDir()
    let interrupted = 0
    for (let delayMs = 150; delayMs <= 450; delayMs += 100) {
      const child = Bun.spawn([process.execPath, main, 'copy', '--from', source, '--to', target, '--resume'], {
        stdout: 'ignore',
        stderr: 'ignore',
      })
      await Bun.sleep(delayMs)
      child.kill('SIGKILL')
      if ((await child.exited) !== 0) interrupted++
    }
    expect(interrupted).toBeGreaterThan(0)
    const rest = await copy(source, target, '--resume', '--json')
    expect(JSON.parse(rest.stdout)).toMatchObject({ ok: true, differences: [] })
  })

  test('a target that differs is reported, with exit 1', async () => {
    const target = makeDir()
    await copy(source, target)
    const server = await startServer({ dataDir: target })
    await server.as(secretKey).put('/v1/app/odd', { hashKey: 'extra', data: {} })
    await server.stop()
    const compared = await copy(source, target, '--resume')
    expect(compared.exitCode).toBe(1)
    expect(compared.stdout).toContain('the records of app/odd differ, first at "extra"')
  })

  test('a store that is not given or does not exist is reported in one line', async () => {
    expect((await runCubby(['copy', '--from', source])).stderr).toContain('--to is missing')
    const nothing = await copy(makeDir(), makeDir())
    expect([nothing.exitCode, nothing.stderr.trim().split('\n').length]).toEqual([1, 1])
  })
})
