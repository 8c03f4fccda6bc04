import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import { checkStore } from '../src/engines/sqlite/maintenance/check.ts'
import { makeDesk } from './conformance/material.ts'
import { makeBench } from './conformance/runs.ts'

// `verify` works beside a server and holds no snapshot between two of its statements. Without the second look at a row, a sweep
// that purges a deleted table at that moment would be reported as a damaged store.

/** `meanwhile` runs before the first statement that begins with `sql` reads. */
const interrupted = (db: Database, sql: string, meanwhile: () => void): Database => {
  let isDone = false
  const prepare = (text: string) => {
    const statement = db.prepare(text)
    if (!text.trimStart().startsWith(sql)) return statement
    const get = (...values: number[]) => {
      if (!isDone) meanwhile()
      isDone = true
      return statement.get(...values)
    }
    return { get }
  }
  return new Proxy(db, {
    get: (target, name) => (name === 'prepare' ? prepare : Reflect.get(target, name, target)),
  })
}

const findings = async (db: Database): Promise<string[]> => {
  const found: string[] = []
  for await (const finding of checkStore(db)) found.push(finding)
  return found
}

const withStore = async (use: (db: Database) => Promise<void>): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-check-'))
  const engine = await openSqliteEngine({ dataDir: dir })
  const desk = await makeDesk(engine)
  await desk.put('a')
  const bench = await makeBench(engine, {}, { tenant: desk.tenant })
  await bench.add({})
  await engine.close()
  const db = new Database(join(dir, 'cubby.db'))
  try {
    await use(db)
  } finally {
    db.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

const tableRule = 'SELECT kind, indices FROM tables'
const taskLookup = 'SELECT table_id AS id FROM tasks'
const rowsOf = { records: tableRule, runs: taskLookup }

test.each(Object.entries(rowsOf))(
  'verify: %s that are purged with their table while it reads are no findings',
  (_, sql) =>
    withStore(async (db) => {
      const purge = (): void => {
        for (const table of ['records', 'runs', 'tasks', 'tables']) db.exec(`DELETE FROM ${table}`)
      }
      expect(await findings(interrupted(db, sql, purge))).toEqual([])
    }),
)

test.each(Object.entries(rowsOf))('verify: %s that stay without their table are findings', (rows, sql) =>
  withStore(async (db) => {
    const lose = (): void => {
      db.exec(rows === 'records' ? `DELETE FROM tables WHERE kind = 'table'` : 'DELETE FROM tasks')
    }
    expect(await findings(interrupted(db, sql, lose))).toContainEqual(
      expect.stringMatching(/(table|task) does not exist$/),
    )
  }),
)
