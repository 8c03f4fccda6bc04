import { Database } from 'bun:sqlite'
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { storedData } from '../../src/core/records/checksum.ts'
import { makeTempDir, removeTempDir, startServer, storeArguments, storeIsEmbedded } from '../harness.ts'
import { sha256 } from '../http/bucket.ts'
import { ok } from '../http/service.ts'
import { runCommand } from './commands.ts'

// A store may have been written by somebody else: a backup that was sent, a database that others can write. The names and
// digests in it become paths, and must not lead out of the directory that the operator named.

setDefaultTimeout(120_000)

const bytes = 'the bytes of a file'
const tops: string[] = []
afterEach(() => {
  for (const top of tops.splice(0)) removeTempDir(top)
})

/** The same store for each test: a table, a bucket with a file, and a task. */
const makeStore = async (): Promise<{ top: string; data: string }> => {
  const top = makeTempDir()
  // The schema of a PostgreSQL store is called as the directory.
  const data = join(top, `data-${top.slice(-6)}`)
  tops.push(top)
  const server = await startServer({ dataDir: data })
  const api = server.as((await server.createOrganization('acme')).secretKey)
  ok(await api.post('/v1/app/people'), 201)
  ok(await api.put('/v1/app/people', { hashKey: 'ada', data: {} }))
  ok(await api.post('/v1/app/_buckets/pictures'), 201)
  ok(await api.put('/v1/app/_buckets/pictures/tom.png', bytes))
  ok(await api.put('/v1/app/_tasks/mail', { paused: true }), 201)
  await server.stop()
  return { top, data }
}

interface Change {
  sqlite: (db: Database) => unknown
  postgres: string
}

const apply = async (data: string, { sqlite, postgres }: Change): Promise<void> => {
  if (storeIsEmbedded()) {
    const db = new Database(join(data, 'cubby.db'))
    sqlite(db)
    db.close()
    return
  }
  const client = new pg.Client({ connectionString: storeArguments(data).at(-1) })
  await client.connect()
  try {
    expect((await client.query(postgres)).rowCount).toBe(1)
  } finally {
    await client.end()
  }
}

const renaming = (column: 'db' | 'name', to: string, which: string): Change => ({
  sqlite: (db) => db.run(`UPDATE tables SET ${column} = ? WHERE kind = ?`, [to, which]),
  postgres: `update cubby_table_8 set ${column} = '${to}' where kind = '${which}'`,
})

/** The record of the file, with the checksum that belongs to it: nothing tells that it was not written so. */
const changingFile = (from: string, to: string): Change => ({
  sqlite: (db) => {
    const row = db
      .query<{ id: number; tableId: number; data: string; updatedAtMs: number }, []>(
        `SELECT id, table_id AS tableId, data, updated_at AS updatedAtMs FROM records
         WHERE range_key = CAST('tom.png' AS BLOB)`,
      )
      .get()!
    const key = { hashKey: '#', rangeKey: 'tom.png', ttlSeconds: null, updatedAtMs: row.updatedAtMs }
    const data = row.data.slice(0, row.data.lastIndexOf('}') + 1).replace(from, to)
    db.run('UPDATE records SET data = ? WHERE id = ?', [storedData(row.tableId, { ...key, data }), row.id])
  },
  postgres: `update cubby_record_8 set data = replace(data, '${from}', '${to}') where range_key = convert_to('tom.png', 'UTF8')`,
})

const cases: [what: string, change: Change, said: string][] = [
  ['a database', renaming('db', '../escaped', 'table'), '"../escaped"'],
  ['a table', renaming('name', '../escaped', 'table'), '"../escaped"'],
  ['a bucket', renaming('name', '../../../escaped', 'bucket'), '"../../../escaped"'],
  ['a task', renaming('name', '../../../escaped', 'task'), '"../../../escaped"'],
  ['the digest of a file', changingFile(sha256(bytes), '../../../../escaped'), 'its digest is "../../../../escaped"'],
]

for (const [what, change, said] of cases) {
  test(`${what} that is a path: nothing is written outside of the export, and verify names it`, async () => {
    const { top, data } = await makeStore()
    await apply(data, change)
    const store = [...storeArguments(data), '--files', join(data, 'files')]
    const before = readdirSync(top)
    const exported = await runCommand(['orgs', 'export', 'acme', '--to', join(top, 'export'), ...store])
    expect(exported).toMatchObject({ exitCode: 1, stdout: '' })
    expect(exported.stderr).toMatch(/^cubby: [^\n]+\n$/)
    expect(exported.stderr).toContain(said)
    expect(readdirSync(top)).toEqual(before)

    const found = await runCommand(['verify', ...store])
    expect(found.exitCode).toBe(1)
    expect(found.stdout.split('\n').filter((line) => line.includes(said))).toHaveLength(1)

    if (!storeIsEmbedded()) return
    const made = await runCommand(['backup', 'create', join(top, 'backup'), ...store])
    expect(made).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(said) })
    const restored = join(top, 'restored')
    const backup = join(data, 'cubby.db')
    const given = await runCommand(['backup', 'restore', backup, '--data', restored, '--without-files'])
    expect(given).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(said) })
    // The directory for the bytes of a backup has its mark before the first file.
    expect(readdirSync(top).filter((name) => name !== 'backup.files')).toEqual(before)
  })
}

const notAsMade: [what: string, change: Change, said: string][] = [
  [
    'an organization',
    {
      sqlite: (db) => db.run(`UPDATE organizations SET name = 'Ac me'`),
      postgres: `update cubby_organization_8 set name = 'Ac me'`,
    },
    '"Ac me"',
  ],
  [
    'the id of a bucket',
    {
      sqlite: (db) => db.run(`UPDATE tables SET public_id = '../x' WHERE kind = 'bucket'`),
      postgres: `update cubby_table_8 set public_id = '../x' where kind = 'bucket'`,
    },
    '"../x"',
  ],
  [
    'the mark of the place of files',
    {
      sqlite: (db) => db.run(`UPDATE file_place SET mark = '/../x'`),
      postgres: `update cubby_store set file_mark = '/../x'`,
    },
    '"/../x"',
  ],
  ['the type of a file', changingFile('"contentType":"', '"contentType":"application/pdf;x=1, '), 'its contentType'],
  [
    'the id of bytes to remove',
    {
      sqlite: (db) => db.run(`INSERT INTO blobs SELECT '../../x', id, 'dead', 1 FROM tables WHERE kind = 'bucket'`),
      postgres: `insert into cubby_blob_8 (id, table_id, state, due_at_ms) select '../../x', id, 'dead', 1 from cubby_table_8 where kind = 'bucket'`,
    },
    'blob ../../x',
  ],
]

for (const [what, change, said] of notAsMade) {
  test(`${what} that no server has made: verify names it`, async () => {
    const { data } = await makeStore()
    await apply(data, change)
    const { exitCode, stdout } = await runCommand(['verify', ...storeArguments(data), '--files', join(data, 'files')])
    expect(exitCode).toBe(1)
    expect(stdout.split('\n').filter((line) => line.includes(said))).toHaveLength(1)
  })
}
