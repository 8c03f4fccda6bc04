import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandResult, makeTempDir, removeTempDir, startServer, storeIsEmbedded } from '../harness.ts'
import { folderOf, versions } from '../stores/kept-stores.ts'
import { runCommand } from './commands.ts'

// A backup may come from somebody else. A trigger in it runs with every write of the server that is started on it: it can
// add a known API key to each new organization.

setDefaultTimeout(120_000)

/** Plants a key whose text somebody knows. */
const plant = `CREATE TRIGGER plant AFTER INSERT ON organizations BEGIN
  INSERT INTO api_keys (id, org_id, kind, hash, last_four, created_at)
  VALUES ('key_known', NEW.id, 'secret', '${'0'.repeat(64)}', '0000', 0); END`

/** Replaces bytes of the file, as many as before: SQLite believes the text of the schema. */
const rewrite =
  (from: string, to: string) =>
  (file: string): void => {
    const bytes = readFileSync(file)
    let found = 0
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1), found++) bytes.write(to, at)
    expect([found > 0, to.length]).toEqual([true, from.length])
    writeFileSync(file, bytes)
  }

/** The text of the trigger becomes bytes, by the number before the row that tells its type. SQLite reads them all the same. */
const textAsBytes = (file: string): void => {
  const bytes = readFileSync(file)
  const at = bytes.indexOf('triggerplantorganizations')
  expect([at > 0, bytes[at - 1]! % 2]).toEqual([true, 1])
  bytes[at - 1]!--
  writeFileSync(file, bytes)
}

type Change = string | ((file: string) => void)

const refusals: [what: string, changes: Change[], said: RegExp][] = [
  ['a trigger', [plant], /trigger "plant" on "organizations"/],
  ['a trigger whose text is bytes', [plant, textAsBytes], /trigger "plant" on "organizations"/],
  ['a view', [`CREATE VIEW peek AS SELECT * FROM api_keys`], /view "peek"/],
  ['a virtual table', [`CREATE VIRTUAL TABLE search USING fts5(text)`], /virtual table "search"/],
  [
    'a table of ours with another default',
    [rewrite('purging INTEGER NOT NULL DEFAULT 0,', 'purging INTEGER NOT NULL DEFAULT 1,')],
    /table "tables"/,
  ],
  ['a column more', ['ALTER TABLE organizations ADD COLUMN note TEXT'], /table "organizations"/],
  ['an index that is missing', ['DROP INDEX records_by_ttl'], /index "records_by_ttl" on "records" is missing/],
  [
    'an index of ours over something else',
    ['DROP INDEX records_by_ttl', 'CREATE INDEX records_by_ttl ON records (ttl)'],
    /index "records_by_ttl"/,
  ],
  [
    // SQLite itself refuses to make one with such a name.
    "a trigger under a name of SQLite's own",
    [plant.replace('plant', 'squite_plant'), rewrite('squite_plant', 'sqlite_plant')],
    /trigger "sqlite_plant"/,
  ],
]

const tamper = (file: string, changes: Change[]): void => {
  for (const change of changes) {
    if (typeof change !== 'string') {
      change(file)
      continue
    }
    const db = new Database(file)
    db.run(change)
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
  }
}

const schemaOf = (file: string): unknown[] => {
  const db = new Database(file)
  const found = [db.query('PRAGMA user_version').get(), ...db.query('SELECT * FROM sqlite_schema').all()]
  db.close()
  return found
}

const expectRefused = ({ exitCode, stdout, stderr }: CommandResult, said: RegExp): void => {
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
  expect(stderr).toMatch(said)
}

describe.skipIf(!storeIsEmbedded())('a schema that is not that of Cubby', () => {
  let top: string
  let sound: string
  let copies = 0
  beforeAll(async () => {
    top = makeTempDir()
    const dataDir = join(top, 'data')
    sound = join(top, 'sound.backup')
    const server = await startServer({ dataDir })
    const api = server.as((await server.createOrganization('acme')).secretKey)
    await api.post('/v1/app/people', { indices: {} })
    await api.put('/v1/app/people', { hashKey: 'ada', data: { n: 1 } })
    await server.stop()
    expect((await runCommand(['backup', 'create', sound, '--data', dataDir])).exitCode).toBe(0)
  })
  afterAll(() => removeTempDir(top))

  /** A data directory with a copy of this store, changed. */
  const copyOf = (file: string, changes: Change[]): { dir: string; file: string } => {
    const dir = join(top, `copy-${++copies}`)
    mkdirSync(dir)
    const copy = join(dir, 'cubby.db')
    copyFileSync(file, copy)
    tamper(copy, changes)
    return { dir, file: copy }
  }

  for (const [what, changes, said] of refusals) {
    test(`${what} in a backup: verify and restore refuse it, and there is no store`, async () => {
      const { dir, file } = copyOf(sound, changes)
      expectRefused(await runCommand(['backup', 'verify', file]), said)
      const data = join(dir, 'restored')
      expectRefused(await runCommand(['backup', 'restore', file, '--data', data]), said)
      expect(existsSync(data)).toBe(false)
      expect(readdirSync(dir)).toEqual(['cubby.db'])
    })

    test(`${what} in a store: verify reports it, and no backup is made of it`, async () => {
      const { dir } = copyOf(sound, changes)
      const { exitCode, stdout } = await runCommand(['verify', '--data', dir])
      expect(exitCode).toBe(1)
      expect(stdout).toMatch(said)
      const json = await runCommand(['verify', '--data', dir, '--json'])
      expect(JSON.parse(json.stdout)).toMatchObject({ ok: false })
      expectRefused(await runCommand(['backup', 'create', join(dir, 'copy'), '--data', dir]), said)
      expect(existsSync(join(dir, 'copy'))).toBe(false)
    })
  }

  describe('of an older version', () => {
    for (const version of versions) {
      const old = join(folderOf(version), 'cubby.db')

      test(`${version}: a trigger is refused before anything is migrated`, async () => {
        const { dir, file } = copyOf(old, [plant])
        const before = schemaOf(file)
        expectRefused(
          await runCommand(['backup', 'restore', file, '--data', join(dir, 'restored'), '--without-files']),
          /trigger "plant"/,
        )
        const { exitCode, stdout } = await runCommand(['verify', '--data', dir])
        expect(exitCode).toBe(1)
        expect(stdout).toContain('trigger "plant"')
        expect(schemaOf(file)).toEqual(before)
      })

      test(`${version}: without one it is restored, and sound`, async () => {
        const { dir, file } = copyOf(old, [])
        const data = join(dir, 'restored')
        const restored = await runCommand(['backup', 'restore', file, '--data', data, '--without-files'])
        expect(restored).toMatchObject({ exitCode: 0 })
        expect(
          (await runCommand(['verify', '--data', dir, '--files', join(folderOf(version), 'files')])).stdout,
        ).toMatch(/^ok: /)
      })
    }
  })

  test("SQLite's own tables are no finding, nor is a table that got its name back", async () => {
    const renamed = ['ALTER TABLE organizations RENAME TO away', 'ALTER TABLE away RENAME TO organizations']
    const { dir, file } = copyOf(sound, ['ANALYZE', ...renamed])
    const { exitCode, stdout, stderr } = await runCommand(['verify', '--data', dir])
    expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: `ok: ${dir} is sound\n`, stderr: '' })
    expect((await runCommand(['backup', 'verify', file])).exitCode).toBe(0)
  })

  const foreign = [
    'CREATE TABLE audit (id INTEGER PRIMARY KEY, name TEXT UNIQUE)',
    'CREATE INDEX audit_by_name ON audit (name)',
    'CREATE INDEX "odd \u001b[2J" ON records (data)',
  ]
  const named = ['table "audit"', 'index "audit_by_name" on "audit"', 'index "odd \\u001b[2J" on "records"']

  test('plain tables and indexes of somebody else are named, and refused by nothing', async () => {
    const { dir, file } = copyOf(sound, foreign)
    const shown = `; not made by Cubby: ${named.join(', ')}\n`
    const plain = await runCommand(['verify', '--data', dir])
    expect(plain).toEqual({ exitCode: 0, stdout: `ok: ${dir} is sound${shown}`, stderr: '' })
    const json = await runCommand(['verify', '--data', dir, '--json'])
    expect(JSON.parse(json.stdout)).toEqual({ ok: true, findings: [], foreign: named })
    const checked = await runCommand(['backup', 'verify', file])
    expect(checked).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/, verified; not made by Cubby: table/),
    })
    const restored = await runCommand(['backup', 'restore', file, '--data', join(dir, 'restored'), '--json'])
    expect(JSON.parse(restored.stdout)).toMatchObject({ records: 1, foreign: named })
  })

  test('serve warns of them, and serves', async () => {
    const { dir } = copyOf(sound, foreign)
    const server = await startServer({ dataDir: dir })
    await server.stop()
    expect(server.log.filter(({ message }) => /made by Cubby/.test(message))).toEqual([
      expect.objectContaining({ level: 'warn', found: named }),
    ])
  })

  test('serve says so of a schema that verify refuses', async () => {
    const { dir } = copyOf(sound, [plant])
    const server = await startServer({ dataDir: dir })
    await server.stop()
    expect(server.log.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ findings: [expect.stringContaining('trigger "plant"')] }),
    ])
  })
})
