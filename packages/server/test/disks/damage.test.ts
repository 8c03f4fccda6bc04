import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, existsSync, openSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'
import { fixtureOf, makeFixture } from '../conformance/fixture.ts'
import {
  eventually,
  type Json,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  storeIsEmbedded,
} from '../harness.ts'
import { ok, refused, type TestTable } from '../http/service.ts'
import {
  allKeys,
  type DamagedStore,
  leavesOf,
  makeStore,
  recordLeaves,
  recordsEach,
  rootPage,
  sortKeys,
  spoilPages,
} from './damaged-store.ts'

// Disks lose data. A page that cannot be read may cost only the records on it: not other records, not other organizations,
// not the process. The error must say that the store is damaged, so that the operator looks for a backup at once.

setDefaultTimeout(120_000)

let dir = ''
let store: DamagedStore

const start = async (args: string[] = []): Promise<void> => {
  dir = makeTempDir()
  store = await makeStore(join(dir, 'data'), args)
  await store.server.start()
}

afterEach(async () => {
  if (dir === '') return
  await store.server.stop()
  removeTempDir(dir)
  dir = ''
})

const damageLines = (server: Server): Json[] => server.log.filter(({ message }) => message === 'the store is damaged')

/** Told plainly, and nothing of the machine in it. */
const expectDamaged = (answer: Parameters<typeof refused>[0]): void => {
  const error = refused(answer, 500, 'store_damaged')
  expect(error.hint).toContain('backup')
  expect(answer.text).not.toMatch(/sqlite|select|cubby\.db|\/tmp/i)
}

const isReady = async (server: Server): Promise<boolean> =>
  (await server.request('GET', '/readyz', { headers: { connection: 'close' } })).status === 200

describe.skipIf(!storeIsEmbedded())('damaged pages of records', () => {
  test('their records answer store_damaged, all others are served, right after a bad one too', async () => {
    await start()
    spoilPages(store.file, recordLeaves(store.file, 'users'))
    const { good, bad } = await sortKeys(store.users)
    expect(bad.length).toBeGreaterThan(2)
    expect(bad.length).toBeLessThan(20)
    expect(good.length).toBe(recordsEach - bad.length)
    for (const table of [store.orders, store.theirs]) expect((await sortKeys(table)).bad).toEqual([])
    for (const key of bad) {
      expectDamaged(await store.users.get(key))
      ok(await store.users.get(good[0]!))
      ok(await store.theirs.get('k1'))
    }
  })

  test('a page that needs them answers store_damaged, other pages do not', async () => {
    await start()
    spoilPages(store.file, recordLeaves(store.file, 'users'))
    const query = (table: TestTable, body: Json) => table.api.post(`${table.path}/query`, body)
    expectDamaged(await query(store.users, { index: 't', limit: 1_000 }))
    ok(await query(store.users, { index: 't', limit: 10 }))
    ok(await query(store.theirs, { index: 't', limit: 400 }))
    const answers = []
    for (const shelf of ['s0', 's1', 's2', 's3']) {
      answers.push(await query(store.users, { index: 'i1', hash: shelf, limit: 1_000 }))
      ok(await query(store.orders, { index: 'i1', hash: shelf, limit: 1_000 }))
    }
    const failed = answers.filter(({ status }) => status !== 200)
    expect(failed.length).toBeGreaterThan(0)
    for (const answer of failed) expectDamaged(answer)
  })

  test('the first is logged in one line that names the file and what to do; no other is', async () => {
    await start()
    spoilPages(store.file, recordLeaves(store.file, 'users'))
    const { bad } = await sortKeys(store.users)
    for (const key of [...bad, ...bad]) expectDamaged(await store.users.get(key))
    for (const key of bad) expectDamaged(await store.users.tryPut({ hashKey: key, data: {} }))
    const lines = damageLines(store.server)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: 'error', file: store.file })
    for (const word of ['cubby verify', 'restore a backup', '--no-mmap']) expect(lines[0].hint).toContain(word)
    const others = store.server.log.filter(({ level, message }) => level !== 'info' && message !== lines[0].message)
    expect(others).toEqual([])
  })

  test('readyz is 503 from the first on, until a restart; healthz stays 200', async () => {
    await start()
    spoilPages(store.file, recordLeaves(store.file, 'users'))
    expect(await isReady(store.server)).toBe(true)
    const { bad } = await sortKeys(store.users)
    refused(await store.server.request('GET', '/readyz'), 503, 'unavailable')
    ok(await store.server.request('GET', '/healthz'))
    ok(await store.users.get('k1'))
    expect(await isReady(store.server)).toBe(false)
    await store.server.restart()
    expect(await isReady(store.server)).toBe(true)
    expectDamaged(await store.users.get(bad[0]!))
    expect(await isReady(store.server)).toBe(false)
  })

  test('writes go on: only those that meet the damage answer store_damaged, and nothing of them is applied', async () => {
    await start()
    spoilPages(store.file, recordLeaves(store.file, 'users'))
    const { good, bad } = await sortKeys(store.users)
    const put = (key: string) => store.users.tryPut({ hashKey: key, data: { shelf: 'new' } })
    const answers = await Promise.all([...good.slice(0, 40), ...bad, 'fresh'].map(async (key) => [key, await put(key)]))
    for (const [key, answer] of answers as [string, Awaited<ReturnType<typeof put>>][]) {
      if (bad.includes(key)) expectDamaged(answer)
      else expect(ok(await store.users.get(key)).updatedAt).toBe(ok(answer).updatedAt)
    }
    const operations = [
      { op: 'put', hashKey: good[50], data: { shelf: 'batch' } },
      { op: 'put', hashKey: bad[0], data: { shelf: 'batch' } },
    ]
    expectDamaged(await store.users.api.post(`${store.users.path}/batch`, { operations }))
    expect(ok(await store.users.get(good[50]!)).data.shelf).not.toBe('batch')
    expectDamaged(await store.users.delete(bad[0]!))
    for (const key of bad) expectDamaged(await store.users.get(key))
  })
})

test('one group commit: a write that meets damage fails alone, its neighbours are applied', async () => {
  const home = makeTempDir()
  const keys = Array.from({ length: 90 }, (_, i) => `k${i}`)
  const first = await openSqliteEngine({ dataDir: home })
  const { tenant, table, ...before } = await makeFixture(first)
  for (const key of keys) await before.put(key, { data: { text: 'x'.repeat(1_500) } })
  await first.close()
  const file = join(home, 'cubby.db')
  spoilPages(file, leavesOf(file, 'records').slice(20, 21))
  const messages: string[] = []
  const engine = await openSqliteEngine({ dataDir: home, log: (_, message) => messages.push(message) })
  try {
    const fixture = fixtureOf(engine, tenant, table)
    // All in one turn of the event loop.
    const outcomes = await Promise.all(
      keys.map((key) =>
        fixture.put(key, { data: { text: 'new' } }).then(
          () => 'applied',
          (error) => error.code,
        ),
      ),
    )
    const failed = outcomes.filter((outcome) => outcome !== 'applied')
    expect(failed.length).toBeGreaterThan(0)
    expect(failed).toEqual(Array.from({ length: Math.min(failed.length, 4) }, () => 'store_damaged'))
    for (const [i, key] of keys.entries()) {
      if (outcomes[i] === 'applied') expect((await fixture.get(key))?.data).toBe('{"text":"new"}')
    }
    expect(messages).toEqual(['the store is damaged'])
    expect(engine.ready()).toBe(false)
  } finally {
    await engine.close()
    removeTempDir(home)
  }
})

describe.skipIf(!storeIsEmbedded())('damage elsewhere', () => {
  test('in the list of keys: the listing answers store_damaged, records are served', async () => {
    await start()
    spoilPages(store.file, [rootPage(store.file, 'api_keys_by_org')])
    const api = store.server.as(store.org.secretKey)
    expectDamaged(await api.get('/api/keys'))
    expectDamaged(await api.post('/api/keys', { kind: 'public' }))
    expect((await sortKeys(store.orders)).good).toEqual(allKeys)
    ok(await store.orders.tryPut({ hashKey: 'fresh', data: {} }))
    expect(damageLines(store.server)).toHaveLength(1)
  })

  test('in the tables: what is not known yet answers store_damaged', async () => {
    await start()
    spoilPages(store.file, [rootPage(store.file, 'tables_active')])
    const api = store.server.as(store.org.secretKey)
    for (const path of ['/v1', '/v1/app', '/v1/app/orders', '/v1/app/orders/k1']) expectDamaged(await api.get(path))
    expectDamaged(await api.post('/v1/app/another'))
    ok(await api.get('/api/keys'))
  })
})

describe.skipIf(!storeIsEmbedded())('with --workers', () => {
  const everyWorkerIsUnready = (): Promise<true> =>
    eventually('readyz to be 503 in every worker', async () => {
      for (let i = 0; i < 20; i++) if (await isReady(store.server)) return undefined
      return true
    })

  test('what one worker has read makes all of them unready, with one line in the log', async () => {
    await start(['--workers', '2'])
    spoilPages(store.file, recordLeaves(store.file, 'users'))
    expect(await isReady(store.server)).toBe(true)
    // One connection, and so one worker.
    const connection = await store.server.connect()
    const bad: string[] = []
    for (const key of allKeys) {
      const head = `GET ${store.users.at(key)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${store.org.secretKey}\r\n\r\n`
      connection.send(head)
      if ((await connection.answer()).status === 500) bad.push(key)
    }
    connection.close()
    expect(bad.length).toBeGreaterThan(2)
    await everyWorkerIsUnready()
    expect((await sortKeys(store.users)).bad).toEqual(bad)
    expect(damageLines(store.server)).toHaveLength(1)
  })

  test.skipIf(!existsSync('/proc/self/task'))(
    "so does damage that the owner's writer found, also for a worker that starts later",
    async () => {
      await start(['--workers', '2'])
      spoilPages(store.file, [rootPage(store.file, 'api_keys_by_org')])
      expect(await isReady(store.server)).toBe(true)
      expectDamaged(await store.server.as(store.org.secretKey).post('/api/keys', { kind: 'public' }))
      await everyWorkerIsUnready()
      expect(damageLines(store.server)).toHaveLength(1)
      const children = await Bun.file(`/proc/${store.server.pid}/task/${store.server.pid}/children`).text()
      for (const pid of children.trim().split(' ')) process.kill(Number(pid), 'SIGKILL')
      await eventually('other workers', async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => isReady(store.server).catch(() => undefined)))
        return answers.includes(undefined) ? undefined : true
      })
      await everyWorkerIsUnready()
    },
  )
})

describe.skipIf(!storeIsEmbedded())('a store whose first pages are damaged', () => {
  const overwrite = (file: string, at: number, bytes: number): void => {
    const handle = openSync(file, 'r+')
    writeSync(handle, Buffer.alloc(bytes, 0xa7), 0, bytes, at)
    closeSync(handle)
  }
  const damages: [string, (file: string) => void][] = [
    ['the header', (file) => overwrite(file, 0, 100)],
    ['all of page 1', (file) => overwrite(file, 0, 4_096)],
    ['page 1 after the header', (file) => overwrite(file, 100, 3_996)],
    ['what all requests need', (file) => spoilPages(file, [rootPage(file, 'meta')])],
    ['the end, cut off', (file) => truncateSync(file, Math.floor(statSync(file).size / 8_192) * 4_096)],
  ]
  for (const [what, damage] of damages) {
    test(`is not served, one line says why: ${what}`, async () => {
      await start()
      await store.server.end('SIGTERM')
      damage(store.file)
      for (const command of [
        ['serve', '--port', '0'],
        ['serve', '--port', '0', '--workers', '2'],
        ['orgs', 'list'],
      ]) {
        const { exitCode, stdout, stderr } = await runCubby([...command, '--data', store.server.dataDir])
        expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
        expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
        expect(stderr).toContain(`${store.file} is damaged`)
        expect(stderr).toContain('restore a backup')
      }
      const verified = await runCubby(['verify', '--data', store.server.dataDir])
      expect(verified.exitCode).toBe(1)
      expect(verified.stdout).toContain(`${store.file} is damaged`)
      expect(verified.stderr).toContain('restore the last good backup')
    })
  }
})

describe.skipIf(!storeIsEmbedded())('commands on a damaged store', () => {
  test('backup create blames the store, not the file that it was to write', async () => {
    await start()
    spoilPages(store.file, recordLeaves(store.file, 'users'))
    const backup = join(dir, 'backup')
    const { exitCode, stdout, stderr } = await store.server.cubby('backup', 'create', backup)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
    expect(stderr).toContain(`${store.file} is damaged`)
    expect(stderr).toContain('cubby verify')
    expect(stderr).not.toContain(backup)
    expect(existsSync(backup)).toBe(false)
  })

  test('verify names the damaged tables and no others, and continues after the damage', async () => {
    await start()
    await store.server.end('SIGTERM')
    spoilPages(store.file, [...recordLeaves(store.file, 'orders'), ...recordLeaves(store.file, 'theirs')])
    await store.server.start()
    const { exitCode, stdout, stderr } = await store.server.cubby('verify')
    expect(exitCode).toBe(1)
    expect(stderr).toContain('; damaged tables: app/orders of acme, app/theirs of beta\n')
    // Two ranges of ids, each as wide as three pages of records: the records between them were read.
    const ranges = [...stdout.matchAll(/records of the ids (\d+) to (\d+) cannot be read/g)].map((found) => [
      Number(found[1]),
      Number(found[2]),
    ])
    expect(ranges).toHaveLength(2)
    for (const [low, high] of ranges) expect(high! - low!).toBeLessThan(20)
    const answered = await runCubby(['verify', '--json', '--data', store.server.dataDir])
    expect(JSON.parse(answered.stdout).summary.tables).toMatchObject([
      { organization: 'acme', db: 'app', table: 'orders' },
      { organization: 'beta', db: 'app', table: 'theirs' },
    ])
  })
})

// With a memory map, the system can only end the process when it cannot read a page. Without a map, only that read fails.
describe.skipIf(!storeIsEmbedded())('a file that is cut short under --no-mmap', () => {
  for (const workers of [[], ['--workers', '2']]) {
    test(`the process lives, what is left is served ${workers.join(' ')}`, async () => {
      await start(['--no-mmap', ...workers])
      ok(await store.orders.tryPut({ hashKey: 'first', data: {} }))
      for (const table of [store.orders, store.theirs]) ok(await table.get('k1'))
      truncateSync(store.file, Math.floor((statSync(store.file).size * 0.9) / 4_096) * 4_096)
      expect((await sortKeys(store.orders)).good).toEqual(allKeys)
      const { good, bad } = await sortKeys(store.theirs)
      expect(good.length).toBeGreaterThan(100)
      expect(bad.length).toBeGreaterThan(50)
      ok(await store.orders.tryPut({ hashKey: 'k1', data: { still: 'written' } }))
      expect(ok(await store.orders.get('k1')).data).toEqual({ still: 'written' })
      expectDamaged(await store.theirs.tryPut({ hashKey: bad[0]!, data: {} }))
      expect(await isReady(store.server)).toBe(false)
      expect(store.server.log.filter(({ message }) => message === 'a worker ended; starting another')).toEqual([])
    })
  }
})
