import { Database } from 'bun:sqlite'
import { afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endWait, planFaults } from '../../src/engines/sqlite/disk/fault-point.ts'
import { schemaVersion } from '../../src/engines/sqlite/migrations/schema.ts'
import { leavesOf, spoilPages } from '../disks/damaged-store.ts'
import { eventually, makeTempDir, removeTempDir, runCubby, Server, startServer, storeIsEmbedded } from '../harness.ts'
import { ok, refused, TestTable } from '../http/service.ts'
import { dayMs, findChangedAnswers } from './expected.ts'
import { folderOf, programOf, readExpected } from './kept-stores.ts'

// While a store is upgraded, other processes may run, start or be killed. At any moment it must be a store of the old
// version or of the new one. No process of the old version may write into the new one: it would store data with the
// checksum of other data.

setDefaultTimeout(120_000)

interface Released {
  name: string
  version: number
  /** A table that comes with the next version. */
  added: string
}

const released: Released[] = [
  { name: 'v1', version: 1, added: 'secrets' },
  { name: 'v7', version: 7, added: 'idempotency_keys' },
]

/** The version whose store each test gets a copy of. */
let old: Released = released[0]!
let expected = readExpected(old.name)
let oldProgram = ''

const useVersion = (version: Released): void => {
  beforeAll(async () => {
    old = version
    expected = readExpected(version.name)
    oldProgram = await programOf(version.name)
  })
}

let top = ''
let dataDir = ''
let file = ''
const servers: Server[] = []

beforeEach(() => {
  top = makeTempDir()
  dataDir = join(top, 'data')
  file = join(dataDir, 'cubby.db')
  mkdirSync(dataDir)
  copyFileSync(join(folderOf(old.name), 'cubby.db'), file)
  const files = join(folderOf(old.name), 'files')
  if (existsSync(files)) cpSync(files, join(dataDir, 'files'), { recursive: true })
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
  removeTempDir(top)
})

/** Makes a server and does not start it. Its clock is a day after the store was written. */
const makeServer = (options: { program?: string; faults?: string; args?: string[] } = {}): Server => {
  const { program, faults, args } = options
  const env = faults === undefined ? {} : { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults }
  const server = new Server({ dataDir, clock: true, program, env, args })
  server.setClock(expected.writtenAtMs + dayMs - Date.now())
  servers.push(server)
  return server
}

const start = async (options: Parameters<typeof makeServer>[0] = {}): Promise<Server> => {
  const server = makeServer(options)
  await server.start()
  return server
}

const query = <Row>(sql: string): Row[] => {
  const db = new Database(file, { readonly: true })
  try {
    return db.query<Row, []>(sql).all()
  } finally {
    db.close()
  }
}

const versionOf = (): number => query<{ user_version: number }>('PRAGMA user_version')[0]!.user_version
const meta = (name: string): number | undefined =>
  query<{ value: number }>(`SELECT value FROM meta WHERE name = '${name}'`)[0]?.value
const people = (server: Server) => new TestTable(server.as(expected.keys.secret!), 'app', 'people')

const hasAllChecksums = () =>
  eventually('every record has its checksum', () => (meta('unchecked_next') === undefined ? true : undefined), {
    waitMsMax: 30_000,
  })

/** Adds rows to the table `plain` as version 0.1 wrote them. */
const addRows = (count: number): void => {
  const db = new Database(file)
  const { id } = db.query<{ id: number }, []>(`SELECT id FROM tables WHERE name = 'plain'`).get()!
  db.run(`WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${count})
    INSERT INTO records (id, table_id, hash_key, range_key, updated_at, data)
    SELECT 500000 + n, ${id}, CAST('many' AS BLOB), CAST(printf('%06d', n) AS BLOB), ${expected.writtenAtMs} + n,
      '{"n":' || n || ',"text":"' || hex(zeroblob(150)) || '"}' FROM series`)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

const expectUpgraded = async (server: Server): Promise<void> => {
  expect(versionOf()).toBe(schemaVersion)
  expect(await findChangedAnswers(server, expected)).toEqual([])
  await hasAllChecksums()
  // This time all records are compared with their checksums.
  await server.restart()
  expect(await findChangedAnswers(server, expected)).toEqual([])
  const { exitCode, stdout } = await server.cubby('verify')
  expect([exitCode, stdout]).toEqual([0, `ok: ${dataDir} is sound\n`])
}

describe.skipIf(!storeIsEmbedded()).each(released.map((of) => [of.version, of] as const))(
  'a store of version %d',
  (version, of) => {
    useVersion(of)
    const { added } = of

    test('has the schema of a new store after the upgrade', async () => {
      const schemaOf = (path: string): string[] => {
        const db = new Database(path, { readonly: true })
        const rows = db
          .query<{ name: string; sql: string }, []>('SELECT name, sql FROM sqlite_schema ORDER BY name')
          .all()
        const pragmas = ['application_id', 'user_version'].map((name) =>
          JSON.stringify(db.query(`PRAGMA ${name}`).get()),
        )
        db.close()
        return [
          ...pragmas,
          ...rows.map(({ name, sql }) => `${name}: ${sql?.replaceAll(/\s+/g, ' ').replaceAll(/ (?=[,)])/g, '')}`),
        ]
      }
      const before = schemaOf(file)
      expect((await runCubby(['verify', '--data', dataDir])).exitCode).toBe(0)
      const fresh = join(top, 'fresh')
      expect((await runCubby(['orgs', 'create', 'acme', '--data', fresh])).exitCode).toBe(0)
      const made = schemaOf(join(fresh, 'cubby.db'))
      expect(schemaOf(file)).toEqual(made)
      expect(before).not.toEqual(made)
    })

    test('gives the same answers before and after all records have their checksums', async () => {
      const server = await start()
      expect(server.log.find(({ message }) => message === 'the store was migrated')).toMatchObject({
        from: version,
        to: schemaVersion,
      })
      await expectUpgraded(server)
      expect(server.log.filter(({ message }) => message === 'the store was migrated')).toHaveLength(1)
    })

    test('is upgraded under --workers too', async () => {
      await expectUpgraded(await start({ args: ['--workers', '2'] }))
    })

    test('is upgraded after a crash of the old server, with every acknowledged write of its WAL', async () => {
      const older = await start({ program: oldProgram })
      const { updatedAt } = await people(older).put('newest', { city: 'Oslo' })
      await older.kill()
      const server = await start()
      expect(ok(await people(server).get('newest'))).toMatchObject({ data: { city: 'Oslo' }, updatedAt })
      ok(await people(server).delete('newest'))
      await expectUpgraded(server)
    })

    test('a server killed in the middle of the migration leaves it as it was; the next start upgrades it', async () => {
      const faults = join(top, 'faults')
      planFaults(faults, [{ at: 'migrate', waitMs: 60_000 }])
      const killed = makeServer({ faults })
      const starting = killed.start().catch(() => {})
      await eventually('the migration is about to commit', () => existsSync(`${faults}.hit`) || undefined)
      await killed.kill()
      await starting
      expect(versionOf()).toBe(version)
      expect(query(`SELECT 1 FROM sqlite_schema WHERE name = '${added}'`)).toEqual([])
      // The older version could go back to it.
      const older = await start({ program: oldProgram })
      expect(await findChangedAnswers(older, expected)).toEqual([])
      await older.end('SIGTERM')
      await expectUpgraded(await start())
    })

    test('two servers that start at once: one upgrades and serves, the other is refused', async () => {
      const both = [makeServer(), makeServer()]
      const outcomes = await Promise.allSettled(both.map((server) => server.start()))
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      const loser = outcomes.findIndex(({ status }) => status === 'rejected')
      expect(both[loser]!.logLines.join()).toContain('another process serves the store')
      await expectUpgraded(both[1 - loser]!)
    })

    test('commands and a server that start at the same time: each does its work', async () => {
      const organizations = query('SELECT id FROM organizations').length
      const server = makeServer()
      const commands = Array.from({ length: 4 }, (_, i) => runCubby(['orgs', 'create', `org-${i}`, '--data', dataDir]))
      // A command may hold the store for the moment of the upgrade.
      await server.start().catch(() => server.start())
      for (const { exitCode, stderr } of await Promise.all(commands)) expect([exitCode, stderr]).toEqual([0, ''])
      expect(query<{ n: number }>('SELECT count(*) AS n FROM organizations')[0]!.n).toBe(organizations + 4)
      await expectUpgraded(server)
    })

    test('a command is refused in one line while an older server runs, and the store stays as it is', async () => {
      const older = await start({ program: oldProgram })
      for (const command of [['orgs', 'create', 'new'], ['keys', 'list', '--org', 'acme'], ['verify']]) {
        const { exitCode, stdout, stderr } = await runCubby([...command, '--data', dataDir])
        expect([exitCode, stdout]).toEqual([1, ''])
        expect(stderr).toMatch(
          new RegExp(`^cubby: [^\n]* version ${version} [^\n]*stop that server, start this version[^\n]*\n$`),
        )
      }
      expect(versionOf()).toBe(version)
      await people(older).put('still served', { city: 'Oslo' })
      expect(await older.end('SIGTERM')).toBe(0)
    })

    test('a server of this version is refused while an older one runs', async () => {
      await start({ program: oldProgram })
      await expect(makeServer().start()).rejects.toThrow('another process serves the store')
      expect(versionOf()).toBe(version)
    })

    test('after the upgrade, no older server and no older command writes anything', async () => {
      const server = await start()
      await hasAllChecksums()
      const contents = (): string =>
        JSON.stringify(
          ['records', 'tables', 'organizations', 'api_keys', 'meta'].map((table) => query(`SELECT * FROM ${table}`)),
        )
      await server.end('SIGTERM')
      const before = contents()
      await expect(makeServer({ program: oldProgram }).start()).rejects.toThrow(`has version ${schemaVersion}`)
      for (const command of [
        ['orgs', 'create', 'new'],
        ['keys', 'create', '--org', 'acme', '--kind', 'public'],
        ['import', '--org', 'acme', '--db', 'app', '-'],
        ['copy', '--from', join(top, 'elsewhere'), '--to', dataDir],
      ]) {
        const data = command[0] === 'copy' ? [] : ['--data', dataDir]
        const { exitCode, stderr } = await runCubby([...command, ...data], { program: oldProgram })
        expect([command[0], exitCode === 0, stderr.split('\n').length]).toEqual([command[0], false, 2])
      }
      expect(contents()).toBe(before)
      await expectUpgraded(await start())
    })

    test('a backup of it is restored as a store of this version, with its cursors', async () => {
      const restored = join(top, 'restored')
      // A backup of 0.1 is the file of the store. Later ones also have the bytes of files.
      const backup = version === 1 ? file : join(top, 'backup')
      if (version > 1) {
        const words = ['backup', 'create', backup, '--data', dataDir]
        expect((await runCubby(words, { program: oldProgram })).exitCode).toBe(0)
      }
      expect((await runCubby(['backup', 'restore', backup, '--data', restored])).exitCode).toBe(0)
      expect(versionOf()).toBe(version)
      dataDir = restored
      file = join(restored, 'cubby.db')
      expect(versionOf()).toBe(schemaVersion)
      await expectUpgraded(await start())
    })
  },
)

describe.skipIf(!storeIsEmbedded())('a store of version 1', () => {
  useVersion(released[0]!)

  test('verify counts the records that have no checksum yet, and exits 0', async () => {
    const { n } = query<{ n: number }>('SELECT count(*) AS n FROM records')[0]!
    const plain = await runCubby(['verify', '--data', dataDir])
    expect(plain).toMatchObject({ exitCode: 0, stderr: '' })
    expect(plain.stdout).toBe(`ok: ${dataDir} is sound; ${n} records of version 0.1 without a checksum yet\n`)
    const json = await runCubby(['verify', '--data', dataDir, '--json'])
    expect(JSON.parse(json.stdout)).toEqual({ ok: true, findings: [], unchecked: n })
  })

  test('after a server is killed while it adds checksums, the next one continues; writes in between are kept', async () => {
    addRows(20_000)
    const server = await start()
    const plain = new TestTable(server.as(expected.keys.secret!), 'app', 'plain')
    let last = 0
    for (let round = 0; round < 3; round++) {
      const moved = await eventually('the position moves', () => {
        const next = meta('unchecked_next')
        return next !== undefined && next > 500_000 && next > last ? next : undefined
      })
      expect(moved).toBeLessThan(520_001)
      await plain.put('many', { round }, { rangeKey: `00000${round + 1}` })
      await plain.put('many', { round }, { rangeKey: `01999${round}` })
      await server.kill()
      last = meta('unchecked_next')!
      expect(last).toBeGreaterThanOrEqual(moved)
      await server.start()
    }
    await hasAllChecksums()
    await server.restart()
    const items = await plain.items({ hash: 'many', limit: 1_000, range: { lt: '000500' } })
    expect(items.map(({ data }) => data.round ?? data.n).slice(0, 5)).toEqual([0, 1, 2, 4, 5])
    expect(items).toHaveLength(499)
    for (const round of [0, 1, 2]) expect(ok(await plain.get('many', `01999${round}`)).data).toEqual({ round })
    expect(await server.cubby('verify')).toMatchObject({ exitCode: 0, stdout: `ok: ${dataDir} is sound\n` })
  })

  test('with a damaged page: its records stay unchecked, all others get their checksums', async () => {
    addRows(2_000)
    const leaves = leavesOf(file, 'records')
    spoilPages(file, [leaves[Math.floor(leaves.length / 2)]!])
    const server = await start()
    await eventually('the end is reached', () => {
      const [next, end] = [meta('unchecked_next'), meta('unchecked_end')]
      return next !== undefined && next === end ? true : undefined
    })
    const plain = new TestTable(server.as(expected.keys.secret!), 'app', 'plain')
    ok(await plain.get('many', '000001'))
    ok(await plain.get('many', '002000'))
    ok(await plain.tryPut({ hashKey: 'many', rangeKey: '002000', data: { new: true } }))
    const ends = (sql: string) => query<{ n: number }>(`SELECT count(*) AS n FROM records WHERE ${sql}`)[0]!.n
    expect(ends(`id > 501900 AND data LIKE '%}'`)).toBe(0)
    expect(ends(`id BETWEEN 500001 AND 500100 AND data LIKE '%}'`)).toBe(0)
  })

  test('a copy of it has all checksums at once, and reads the cursors of both versions', async () => {
    const target = join(top, 'copy')
    const server = await start()
    const { cursor } = ok(await server.as(expected.keys.public!).post('/v1/app/people/query', { index: 't', limit: 3 }))
    const copied = await runCubby(['copy', '--from', dataDir, '--to', target])
    expect([copied.exitCode, copied.stderr]).toEqual([0, ''])
    await server.end('SIGTERM')
    dataDir = target
    file = join(target, 'cubby.db')
    expect(meta('unchecked_next')).toBeUndefined()
    const copy = await start()
    const next = { index: 't', limit: 3, cursor }
    expect(ok(await copy.as(expected.keys.public!).post('/v1/app/people/query', next)).items).toHaveLength(3)
    await expectUpgraded(copy)
  })
})

describe.skipIf(!storeIsEmbedded())('a store of version 7', () => {
  useVersion(released[1]!)

  // A command checks the version when it starts, and may be slower than a server that upgrades the store meanwhile.
  test.each([[['orgs', 'create', 'late']], [['keys', 'create', '--org', 'acme', '--kind', 'secret']]])(
    'an older command that was running writes nothing either: %p',
    async (command) => {
      const faults = join(top, 'faults')
      planFaults(faults, [{ at: 'open', waitMs: 60_000 }])
      const env = { NODE_ENV: 'test', CUBBY_TEST_FAULTS: faults }
      const running = runCubby([...command, '--data', dataDir], { program: oldProgram, env })
      await eventually('the command is about to open its writer', () => existsSync(`${faults}.hit`) || undefined)
      const server = await start()
      const contents = (): string =>
        JSON.stringify(['organizations', 'api_keys', 'meta'].map((table) => query(`SELECT * FROM ${table}`)))
      const before = contents()
      endWait(faults)
      expect((await running).exitCode).toBe(1)
      expect(contents()).toBe(before)
      await expectUpgraded(server)
    },
  )
})

describe.skipIf(!storeIsEmbedded())('a store of a version that was never released', () => {
  useVersion(released[0]!)

  test.each([2, 3, 4, 5, 6])(
    '%d is refused in one line by a server and by commands, and no byte of it changes',
    async (version) => {
      const db = new Database(file)
      db.run(`PRAGMA user_version = ${version}`)
      db.close()
      const before = readFileSync(file)
      const said = (what: string): string =>
        `${what} has version ${version}, which only development builds between 0.1 and 0.2 wrote, and this Cubby does not ` +
        'migrate it: export its data with the build that wrote it, and import it into a new store'
      const server = makeServer()
      await expect(server.start()).rejects.toThrow('before it was ready')
      expect(server.logLines.at(-1)).toBe(`cubby: ${said(`the store in ${file}`)}`)

      const other = join(top, 'other')
      const onStore = [['verify'], ['orgs', 'create', 'new'], ['keys', 'list', '--org', 'acme'], ['secrets', 'rotate']]
      const commands = [
        ...[...onStore, ['compact'], ['backup', 'create', join(top, 'backup')]].map((words) => [
          ...words,
          '--data',
          dataDir,
        ]),
        ['copy', '--from', dataDir, '--to', other],
        ['copy', '--from', other, '--to', dataDir],
      ]
      const onFile = [
        ['backup', 'verify', file],
        ['backup', 'restore', file, '--data', join(top, 'restored')],
      ]
      const isFirst = version === 2
      expect((await runCubby(['orgs', 'create', 'acme', '--data', other])).exitCode).toBe(0)
      for (const command of isFirst ? [...commands, ...onFile] : [...commands.slice(0, 1), ...onFile]) {
        const { exitCode, stdout, stderr } = await runCubby(command)
        expect([command, exitCode, stdout]).toEqual([command, 1, ''])
        expect(stderr).toBe(`cubby: ${said(onFile.includes(command) ? file : `the store in ${file}`)}\n`)
      }
      expect(readFileSync(file).equals(before)).toBe(true)
      expect(existsSync(join(top, 'restored'))).toBe(false)
    },
  )
})

test.skipIf(!storeIsEmbedded())(
  'a new store refuses plain cursors of 0.1: trying them out could reveal ids',
  async () => {
    const server = await startServer()
    try {
      const org = await server.createOrganization('acme')
      const api = server.as(org.secretKey)
      ok(await api.post('/v1/app/notes'), 201)
      const plain = Buffer.from('[1,"tables:app","notes",0]').toString('base64url')
      refused(await api.get(`/v1/app?cursor=${plain}`), 400, 'invalid_cursor')
    } finally {
      await server.stop()
    }
  },
)
