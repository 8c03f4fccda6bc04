import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import {
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { makeTokens } from '../token-states.ts'
import { runCommand, startCommand } from './commands.ts'

setDefaultTimeout(120_000)

const expectRefused = async (args: string[], said: string | RegExp): Promise<void> => {
  const { exitCode, stdout, stderr } = await runCommand(args)
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
  expect(stderr).toMatch(said)
}

test('on another engine: one line that says what to use', async () => {
  const store = ['--store', 'postgres://user:secret@127.0.0.1:1/cubby']
  await expectRefused(['backup', 'create', '/tmp/never', ...store], /pg_dump/)
  await expectRefused(['backup', 'restore', '/tmp/never', ...store], /pg_restore/)
  expect(existsSync('/tmp/never')).toBe(false)
})

describe.skipIf(!storeIsEmbedded())('a backup of the embedded engine', () => {
  let server: Server
  let org: Organization
  let dir: string
  let file: string
  const keys = Array.from({ length: 25 }, (_, i) => `k${i}`)
  let acknowledgedBefore = 0
  let sentAfter = 0
  let expectSameTokens: Awaited<ReturnType<typeof makeTokens>>['expectSame']

  // Without a consistent copy, a backup could have half of a batch, or miss a write that was acknowledged before it began.
  // During the backup a writer keeps putting the number of a round into 25 records, all or none.
  beforeAll(async () => {
    dir = makeTempDir()
    file = join(dir, 'store.backup')
    server = await startServer()
    org = await server.createOrganization('acme')
    const api = server.as(org.secretKey)
    await api.post('/v1/app/rounds', { indices: { i1: { hashField: 'parity', rangeField: 'round' } } })
    expectSameTokens = (await makeTokens(server, api)).expectSame
    await api.post('/v1/app/dropped')
    await api.put('/v1/app/dropped', { hashKey: 'a', data: {} })
    await api.delete('/v1/app/dropped')
    for (let i = 0; i < 2_000; i += 25) {
      const operations = keys.map((_, k) => ({
        op: 'put',
        hashKey: `filler-${i + k}`,
        data: { text: 'x'.repeat(1_000) },
      }))
      await api.post('/v1/app/rounds/batch', { operations })
    }
    let round = 0
    let stopped = false
    const write = async (): Promise<void> => {
      while (!stopped) {
        const data = { round: round + 1, parity: (round + 1) % 2 === 1 }
        sentAfter = data.round
        const operations = keys.map((hashKey) => ({ op: 'put', hashKey, data }))
        expect((await api.post('/v1/app/rounds/batch', { operations })).status).toBe(200)
        round++
      }
    }
    const writing = write()
    try {
      acknowledgedBefore = round
      const { exitCode, stdout, stderr } = await runCommand(['backup', 'create', file, '--data', server.dataDir])
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(stdout).toMatch(/^wrote .*store\.backup: 1 organization, 3 tables, 2,027 records, [\d.]+ MB, verified\n$/)
      expect(round).toBeGreaterThan(acknowledgedBefore)
    } finally {
      stopped = true
      await writing
    }
  })
  afterAll(async () => {
    await server?.stop()
    removeTempDir(dir)
  })

  test('made while the server runs is one file, readable by its owner alone', () => {
    expect(readdirSync(dir).filter((name) => name.startsWith('store.backup'))).toEqual(['store.backup'])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test('contains no key, only hashes', () => {
    const bytes = readFileSync(file)
    for (const key of [org.secretKey, org.publicKey]) {
      expect(bytes.includes(key)).toBe(false)
      expect(bytes.includes(key.slice(9, 41))).toBe(false)
    }
  })

  test('restored is sound, whole, and serves: records, indices, deleted tables and keys', async () => {
    const data = join(dir, 'restored')
    const { exitCode, stdout, stderr } = await runCommand(['backup', 'restore', file, '--data', data, '--json'])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ data, organizations: 1, tables: 3, records: 2_027, tasks: 0, runs: 0 })
    expect(readdirSync(data).sort()).toEqual(['cubby.db', 'serve.lock'])
    expect(statSync(data).mode & 0o777).toBe(0o700)
    expect((await runCommand(['verify', '--data', data])).stdout).toStartWith('ok: ')
    const restored = await startServer({ dataDir: data })
    try {
      const api = restored.as(org.secretKey)
      const rounds = await Promise.all(
        keys.map(async (key) => (await api.get(`/v1/app/rounds/${key}`)).body.data.round),
      )
      expect(new Set(rounds).size).toBe(1)
      expect(rounds[0]).toBeGreaterThanOrEqual(acknowledgedBefore)
      expect(rounds[0]).toBeLessThan(sentAfter)
      const hash = rounds[0] % 2 === 1
      expect((await api.post('/v1/app/rounds/query', { index: 'i1', hash })).body.count).toBe(25)
      expect((await api.post('/v1/app/rounds/query', { index: 'i1', hash: !hash })).body.count).toBe(0)
      expect((await api.post('/v1/app/dropped/restore')).status).toBe(200)
      expect((await api.get('/v1/app/dropped/a')).status).toBe(200)
      expect((await restored.as(org.publicKey).get('/v1/app/rounds/k0')).status).toBe(200)
      await expectSameTokens(restored, org.secretKey)
      expect((await api.put('/v1/app/rounds', { hashKey: 'new', data: {} })).status).toBe(200)
    } finally {
      await restored.stop()
    }
  })

  test('does not overwrite', async () => {
    const before = readFileSync(file)
    await expectRefused(
      ['backup', 'create', file, '--data', server.dataDir],
      /store\.backup exists and is not overwritten/,
    )
    expect(readFileSync(file).equals(before)).toBe(true)
    await expectRefused(['backup', 'restore', file, '--data', server.dataDir], /has a store \(cubby\.db\)/)
    expect((await server.as(org.secretKey).get('/v1/app/rounds/k0')).status).toBe(200)
  })

  test('of nothing, or into nowhere, is refused and leaves nothing', async () => {
    const nowhere = join(dir, 'nowhere')
    await expectRefused(['backup', 'create', join(dir, 'a'), '--data', nowhere], /there is no store in/)
    await expectRefused(['backup', 'create', join(dir, 'no-dir', 'a'), '--data', server.dataDir], /cannot be written/)
    await expectRefused(['backup', 'restore', join(dir, 'nofile'), '--data', nowhere], /there is no file/)
    expect(readdirSync(dir).filter((name) => ['a', 'a.tmp', 'no-dir', 'nowhere'].includes(name))).toEqual([])
  })

  test('another one that is being made under the same name is left alone', async () => {
    const busy = join(dir, 'busy.backup')
    writeFileSync(`${busy}.tmp`, 'not ours')
    await expectRefused(['backup', 'create', busy, '--data', server.dataDir], /busy\.backup\.tmp exists/)
    expect(readFileSync(`${busy}.tmp`, 'utf8')).toBe('not ours')
    // One of ours, by another process.
    const lock = new Database(`${busy}.tmp-lock`)
    lock.run('BEGIN EXCLUSIVE')
    await expectRefused(['backup', 'create', busy, '--data', server.dataDir], /another backup is running$/m)
    expect(readFileSync(`${busy}.tmp`, 'utf8')).toBe('not ours')
    lock.close()
  })

  test('interrupted, it can be started again, and so can a restore; nothing is left of the first', async () => {
    const made = join(dir, 'again.backup')
    const data = join(dir, 'again')
    /** Kills it as soon as it has begun to write. If it was faster, once more. */
    const interrupt = async (args: string[], temporary: string, result?: string): Promise<void> => {
      for (let tries = 0; tries < 10 && !existsSync(temporary); tries++) {
        if (result !== undefined) rmSync(result, { recursive: true, force: true })
        const child = startCommand(args)
        let isOver = false
        child.result.then(() => {
          isOver = true
        })
        const hasBegun = (): true | undefined => existsSync(temporary) || isOver || undefined
        await eventually('it has begun', hasBegun, { pauseMs: 1 })
        child.kill('SIGKILL')
        await child.result
      }
      expect(existsSync(temporary)).toBe(true)
    }
    const again = async (args: string[]): Promise<void> => {
      const { exitCode, stdout, stderr } = await runCommand(args)
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(stdout).toEndWith('verified\n')
    }
    const create = ['backup', 'create', made, '--data', server.dataDir]
    await interrupt(create, `${made}.tmp`, made)
    await again(create)
    const verify = ['backup', 'verify', made]
    await interrupt(verify, `${made}.verify.tmp`)
    await again(verify)
    const restore = ['backup', 'restore', made, '--data', data]
    await interrupt(restore, join(data, 'cubby.db.tmp'), data)
    await again(restore)
    expect(readdirSync(dir).filter((name) => name.startsWith('again'))).toEqual(['again', 'again.backup'])
    expect(readdirSync(data).filter((name) => name.includes('tmp'))).toEqual([])
  })

  describe('is verified before it is restored; what is not whole becomes no store', () => {
    const damaged = (name: string, damage: (path: string) => void): string => {
      const path = join(dir, name)
      copyFileSync(file, path)
      damage(path)
      return path
    }
    const cases: [string, () => string, RegExp][] = [
      ['an empty file', () => damaged('empty', (path) => truncateSync(path, 0)), /is not a backup of Cubby/],
      ['a text', () => damaged('text', (path) => writeFileSync(path, 'x'.repeat(10_000))), /is not a backup of Cubby/],
      [
        'one that was cut short',
        () => damaged('cut', (path) => truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096)),
        /is (damaged|not sound)/,
      ],
      [
        'an index that does not agree with its record',
        () =>
          damaged('wrong-index', (path) => {
            const db = new Database(path)
            db.run(`UPDATE records SET i1_range = CAST('zz' AS BLOB) WHERE i1_hash IS NOT NULL`)
            db.close()
          }),
        /is not sound: record \d+ .* i1 does not hold what its data says/,
      ],
      [
        'one of a later version',
        () =>
          damaged('later', (path) => {
            const db = new Database(path)
            db.run('PRAGMA user_version = 1000')
            db.close()
          }),
        /has version 1000/,
      ],
    ]
    for (const [what, make, said] of cases) {
      test(what, async () => {
        const data = join(dir, 'from-damaged')
        await expectRefused(['backup', 'restore', make(), '--data', data], said)
        expect(existsSync(data)).toBe(false)
      })
    }

    test('remains of another store, a log without its database, count as a store', async () => {
      const data = makeTempDir()
      try {
        writeFileSync(join(data, 'cubby.db-wal'), 'remains')
        await expectRefused(['backup', 'restore', file, '--data', data], /has a store \(cubby\.db-wal\)/)
        expect(readdirSync(data)).toEqual(['cubby.db-wal'])
      } finally {
        removeTempDir(data)
      }
    })
  })
})
