import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CubbyError } from '../src/core/errors.ts'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import { deleteOf, makeFixture, putOf, timeScan } from './conformance/fixture.ts'
import { describeEngine, expectSound } from './engine-conformance.ts'
import { eventually } from './harness.ts'

const makeDataDir = (): string => mkdtempSync(join(tmpdir(), 'cubby-engine-'))
const removeDataDir = (dir: string): void => rmSync(dir, { recursive: true, force: true })

let dataDir = ''

const oneOwner =
  'one process at a time serves an embedded store; what runs beside it only changes keys and organizations'

describeEngine('sqlite', {
  open() {
    dataDir = makeDataDir()
    return openSqliteEngine({ dataDir })
  },
  reopen: () => openSqliteEngine({ dataDir }),
  openBeside: () => openSqliteEngine({ dataDir, role: 'guest' }),
  remove: async () => removeDataDir(dataDir),
  skips: {
    'beside: a write through one engine into a table deleted through the other is refused': oneOwner,
    'beside: a write through one engine into an organization deleted through the other is refused': oneOwner,
    'beside: what one engine wrote the other reads, and versions of a record increase across both': oneOwner,
    'beside: of writers that race through both engines under one version exactly one wins': oneOwner,
    'beside: sweeps by both remove each row once, between them all': oneOwner,
    'fences: a write through one engine by a user who was revoked through the other is refused': oneOwner,
    'following: it holds in another process from the moment of the answer': oneOwner,
    'changes: another process adds to the same log, and tells those who follow it': oneOwner,
  },
})

/** Makes one index look empty, as a lost write of its page would. */
const emptyIndex = (db: Database, path: string, name: string): void => {
  const rootPage = (index: string): number =>
    db.query<{ rootpage: number }, [string]>('SELECT rootpage FROM sqlite_schema WHERE name = ?1').get(index)!.rootpage
  const { page_size: pageSize } = db.query<{ page_size: number }, []>('PRAGMA page_size').get()!
  const [from, to] = [rootPage('records_by_i5'), rootPage(name)]
  db.close()
  const bytes = readFileSync(path)
  bytes.copyWithin((to - 1) * pageSize, (from - 1) * pageSize, from * pageSize)
  writeFileSync(path, bytes)
}

// SQLite tells by a lock on this file whether any process has the store open, and sets the log's index up anew if
// none has. A process that loses the lock while it works has its index taken from under it by the next command.
test.skipIf(process.platform !== 'linux')('an open store holds the lock on the index of its log', async () => {
  const dir = makeDataDir()
  const locks = (): string[] => {
    const file = `:${statSync(join(dir, 'cubby.db-shm')).ino} `
    const lines = readFileSync('/proc/locks', 'utf8').split('\n')
    return lines.filter((line) => line.includes(file) && line.includes(` ${process.pid} `))
  }
  const engine = await openSqliteEngine({ dataDir: dir })
  try {
    expect(locks()).toContainEqual(expect.stringMatching(/READ .* 128 128$/))
    const fixture = await makeFixture(engine)
    await fixture.put('a')
    expect(await fixture.get('a')).toBeDefined()
    expect(locks()).toContainEqual(expect.stringMatching(/READ .* 128 128$/))
  } finally {
    await engine.close()
    removeDataDir(dir)
  }
})

test('the log is copied and starts over when nothing was written for a moment', async () => {
  const dir = makeDataDir()
  const engine = await openSqliteEngine({ dataDir: dir })
  const beside = new Database(join(dir, 'cubby.db'))
  const state = beside.prepare<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(NOOP)')
  try {
    const fixture = await makeFixture(engine)
    const put = (i: number) => fixture.put(`k${i}`, { data: { text: 'x'.repeat(20_000) } })
    // A put that comes while the file is still being synced keeps the log from starting over that time.
    await eventually('the log starts over', async () => {
      await Promise.all(Array.from({ length: 400 }, (_, i) => put(i)))
      expect(await fixture.get('k0')).toBeDefined()
      expect(state.get()!.log).toBeGreaterThan(1_000)
      await eventually('all is copied', () => (state.get()!.log === state.get()!.checkpointed ? true : undefined))
      await Bun.sleep(100)
      await put(0)
      return state.get()!.log < 100 ? true : undefined
    })
    expect((await fixture.names(timeScan())).length).toBe(400)
  } finally {
    beside.close()
    await engine.close()
    removeDataDir(dir)
  }
})

// When SQLite refuses a statement in the middle of a batch, half of the batch is written. Commits are shared, so the fault
// of one command must neither leave that half nor harm the commands beside it.
test('a batch that fails half-way leaves nothing, and the others of its commit are applied', async () => {
  const dir = makeDataDir()
  const failures: unknown[] = []
  const engine = await openSqliteEngine({ dataDir: dir, log: (_, message) => failures.push(message) })
  try {
    const fixture = await makeFixture(engine, { i1: { hashField: 's' } })
    const first = await fixture.put('old', { data: { s: 'x', n: 1 } })
    const beside = new Database(join(dir, 'cubby.db'))
    beside.run(`CREATE TRIGGER fault BEFORE INSERT ON records WHEN NEW.hash_key = CAST('fault' AS BLOB)
      BEGIN SELECT RAISE(ABORT, 'a fault'); END`)
    const put = (name: string, s = 'x') => putOf(fixture.table, name, { data: { s } })
    const outcomes = await Promise.all(
      [
        [put('before')],
        [put('old', 'y'), deleteOf('old-too'), put('half'), put('fault'), put('never')],
        [put('a'), put('b')],
        [put('fault')],
        [put('after')],
      ].map((operations) =>
        fixture.write(operations).then(
          (result) => (result.applied ? 'applied' : 'refused'),
          (error) => (error instanceof CubbyError ? error.code : String(error)),
        ),
      ),
    )
    expect(outcomes).toEqual(['applied', 'internal', 'applied', 'internal', 'applied'])
    expect(await fixture.names(timeScan())).toEqual(['old', 'before', 'a', 'b', 'after'])
    expect(await fixture.get('old')).toMatchObject({ data: '{"s":"x","n":1}', updatedAtMs: first })
    expect(failures).toContain('write failed')
    beside.run('DROP TRIGGER fault')
    beside.close()
    await fixture.put('fault')
    await expectSound(engine)
  } finally {
    await engine.close()
    removeDataDir(dir)
  }
})

// Every case of the suite ends with a check that finds nothing. These show that it would find something.
describe('sqlite check', () => {
  const b = `WHERE hash_key = CAST('b' AS BLOB)`
  const damages: [string, string | ((db: Database, path: string) => void), RegExp][] = [
    ['an index entry that is not what the data says', `UPDATE records SET i1_hash = x'73' ${b}`, /"b".*i1/],
    ['an index entry that is missing', 'UPDATE records SET i1_hash = NULL, i1_range = NULL', /"a".*i1/],
    ['an index entry that no index declares', `UPDATE records SET i2_hash = x'6e', i2_range = x'6e'`, /"a".*i2/],
    ['data that is no JSON', `UPDATE records SET data = '{"s":' ${b}`, /"b".*JSON/],
    ['a record of a table that is not there', 'DELETE FROM tables', /"a".*table/],
    ['a table of an organization that is not there', 'UPDATE tables SET org_id = 77', /table .*organization/],
    ['a key of an organization that is not there', 'UPDATE api_keys SET org_id = 77', /key_.*organization/],
    ['an index that lost its entries', (db, path) => emptyIndex(db, path, 'records_by_time'), /records_by_time/],
  ]
  for (const [what, damage, line] of damages) {
    test(`check: finds ${what}`, async () => {
      const dir = makeDataDir()
      try {
        const engine = await openSqliteEngine({ dataDir: dir })
        const fixture = await makeFixture(engine, { i1: { hashField: 's', rangeField: 's' } })
        for (const name of 'abc') await fixture.put(name, { data: { s: 'x' } })
        await engine.close()
        const path = join(dir, 'cubby.db')
        const db = new Database(path)
        db.run('PRAGMA busy_timeout = 5000')
        db.run('PRAGMA wal_checkpoint(TRUNCATE)')
        if (typeof damage === 'string') db.run(damage)
        else damage(db, path)
        db.close()

        const damaged = await openSqliteEngine({ dataDir: dir })
        const findings: string[] = []
        for await (const finding of damaged.maintenance.check()) findings.push(finding)
        await damaged.close()
        expect(findings).toContainEqual(expect.stringMatching(line))
      } finally {
        removeDataDir(dir)
      }
    })
  }
})
