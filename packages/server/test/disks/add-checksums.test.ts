import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { CubbyError } from '../../src/core/errors.ts'
import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'
import { type Fixture, fill, fixtureThrough, makeFixture, numbered, putOf, startMs } from '../conformance/fixture.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'

// Rows of version 0.1 have no checksum and get one in steps. What is damaged meanwhile must not be given a good one.

const names = numbered(20)
let dataDir = ''
let fixture: Fixture

/** Changes the file while nobody has it open. */
const edit = (sql: string): void => {
  const db = new Database(join(dataDir, 'cubby.db'))
  db.run(sql)
  db.close()
}

const countUnchecked = (): number => {
  const db = new Database(join(dataDir, 'cubby.db'), { readonly: true })
  const { n } = db.query<{ n: number }, []>(`SELECT count(*) AS n FROM records WHERE data LIKE '%}'`).get()!
  db.close()
  return n
}

beforeEach(async () => {
  dataDir = makeTempDir()
  const engine = await openSqliteEngine({ dataDir })
  fixture = await makeFixture(engine)
  const text = 'x'.repeat(200_000)
  await fill(
    fixture,
    names.map((name) => putOf(fixture.table, name, { data: { text } })),
  )
  await engine.close()
  // The rows are as 0.1 wrote them, and as the migration left them.
  edit(`UPDATE records SET data = substr(data, 1, length(data) - 6);
    INSERT INTO meta SELECT 'unchecked_next', 1 UNION ALL SELECT 'unchecked_end', value FROM meta WHERE name = 'next_record_id'`)
})
afterEach(() => removeTempDir(dataDir))

test('a step is bounded by bytes too', async () => {
  const engine = await openSqliteEngine({ dataDir })
  await engine.maintenance.addChecksums(1_000)
  await engine.close()
  // The sixth row reaches a mebibyte.
  expect(countUnchecked()).toBe(names.length - 6)
})

test('a record that was written with a checksum and damaged since does not get a new one', async () => {
  const name = names[3]!
  let engine = await openSqliteEngine({ dataDir })
  await (await fixtureThrough(engine, fixture)).put(name, { data: { n: 1 } }, startMs + 1)
  await engine.close()
  edit(`UPDATE records SET data = replace(data, '{"n":1}', '{"n":3}')`)
  engine = await openSqliteEngine({ dataDir })
  try {
    while ((await engine.maintenance.addChecksums(1_000)) > 0);
    const through = await fixtureThrough(engine, fixture)
    const error = await through.get(name, undefined, startMs + 2).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(CubbyError)
    expect(error.code).toBe('store_damaged')
    expect(countUnchecked()).toBe(0)
  } finally {
    await engine.close()
  }
})

test('when all have theirs, a record without one is damaged', async () => {
  let engine = await openSqliteEngine({ dataDir })
  expect((await (await fixtureThrough(engine, fixture)).get(names[0]!, undefined, startMs))?.hashKey).toBe(names[0]!)
  while ((await engine.maintenance.addChecksums(1_000)) > 0);
  await engine.close()
  edit(`UPDATE records SET data = '{"n":1}' WHERE id = 1`)
  engine = await openSqliteEngine({ dataDir })
  try {
    const through = await fixtureThrough(engine, fixture)
    const error = await through.get(names[0]!, undefined, startMs).catch((thrown) => thrown)
    expect(error.code).toBe('store_damaged')
    const findings = await Array.fromAsync(engine.maintenance.check())
    expect(findings).toHaveLength(1)
    expect(findings[0]).toMatch('it has no checksum')
  } finally {
    await engine.close()
  }
})
