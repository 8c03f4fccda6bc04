import type { SQLQueryBindings } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from '../src/engines/sqlite/connection.ts'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import { checkStore } from '../src/engines/sqlite/maintenance/check.ts'
import { firstNumbers } from '../src/engines/sqlite/migrations/schema.ts'
import { makeFixture } from './conformance/fixture.ts'
import { makeBench } from './conformance/runs.ts'

// `verify` works beside a server and holds no snapshot between two of its statements. Without the second look at a row, a sweep
// that purges a deleted table at that moment would be reported as a damaged store.

/** A connection in which `meanwhile` runs before the first statement that begins with `sql` reads a row. */
class Interrupted extends Connection {
  readonly #sql: string
  #meanwhile: ((db: Connection) => void) | undefined

  constructor(path: string, sql: string, meanwhile: (db: Connection) => void) {
    super(path, 1_024)
    this.#sql = sql
    this.#meanwhile = meanwhile
  }

  override one<Row>(sql: string, ...values: SQLQueryBindings[]): Row | undefined {
    const meanwhile = sql.startsWith(this.#sql) ? this.#meanwhile : undefined
    if (meanwhile !== undefined) this.#meanwhile = undefined
    meanwhile?.(this)
    return super.one(sql, ...values)
  }
}

/** Findings about a store with a record and a run, while `meanwhile` changes it before the first statement like `sql`. */
const findingsWhile = async (sql: string, meanwhile: (db: Connection) => void): Promise<string[]> => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-check-'))
  const engine = await openSqliteEngine({ dataDir: dir })
  const fixture = await makeFixture(engine)
  await fixture.put('a')
  const bench = await makeBench(engine, {}, { tenant: fixture.tenant })
  await bench.add({})
  await engine.close()
  const db = new Interrupted(join(dir, 'cubby.db'), sql, meanwhile)
  try {
    return await Array.fromAsync(checkStore(db))
  } finally {
    db.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

const lookups = {
  records: 'SELECT kind, indices FROM tables',
  runs: 'SELECT table_id FROM tasks',
}

test.each(Object.entries(lookups))(
  'verify: %s that are purged with their table while it reads are no findings',
  async (_, sql) => {
    const purge = (db: Connection): void => {
      for (const table of ['records', 'runs', 'tasks', 'tables']) db.run(`DELETE FROM ${table}`)
    }
    expect(await findingsWhile(sql, purge)).toEqual([])
  },
)

test.each(Object.entries(lookups))('verify: %s that stay without their table are findings', async (rows, sql) => {
  const lose = (db: Connection): void =>
    db.run(rows === 'records' ? "DELETE FROM tables WHERE kind = 'table'" : 'DELETE FROM tasks')
  expect(await findingsWhile(sql, lose)).toContainEqual(expect.stringMatching(/(table|task) does not exist$/))
})

test('verify: revoked users and issuers that cannot be right are findings', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-check-'))
  try {
    const engine = await openSqliteEngine({ dataDir: dir })
    await makeFixture(engine)
    await engine.close()
    const db = new Connection(join(dir, 'cubby.db'), 1_024)
    db.run(`INSERT INTO revoked_users VALUES (1, 'a', 1, 1), (1, 'b', 2, 1), (9, 'c', 1, 1)`)
    db.run(
      `INSERT INTO issuers VALUES (1, 'bad', '{', 'a', 1, 1, 1), (1, 'late', '{}', 'b', 1, 1, 3), (8, 'x', '{}', 'c', 1, 1, 1)`,
    )
    db.run(`UPDATE meta SET value = 4 WHERE name = 'swept_user_epoch'`)
    expect(await Array.fromAsync(checkStore(db))).toEqual([
      'a user of organization 1 was revoked at an epoch that the store has not reached: 2',
      'issuer late of organization 1 was changed at an epoch that the store has not reached: 3',
      'issuer bad of organization 1: its declaration is not JSON',
      'revocations were swept at an epoch that the store has not reached: 4',
      'revoked users of organization 9 belong to nothing',
      'issuers of organization 8 belong to nothing',
    ])
    db.close()
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

test('verify: a number that the store has lost is a finding', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-check-'))
  try {
    await (await openSqliteEngine({ dataDir: dir })).close()
    const db = new Connection(join(dir, 'cubby.db'), 1_024)
    const kept = db.all<{ name: string; value: number }>('SELECT name, value FROM meta')
    expect(kept.map(({ name }) => name).toSorted()).toEqual(Object.keys(firstNumbers).toSorted())
    for (const { name, value } of kept) {
      db.change('DELETE FROM meta WHERE name = ?1', name)
      expect(await Array.fromAsync(checkStore(db))).toContain(`the store has lost the number ${name}`)
      db.change('INSERT INTO meta VALUES (?1, ?2)', name, value)
    }
    expect(await Array.fromAsync(checkStore(db))).toEqual([])
    db.close()
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
