import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { entryKind } from '../../src/core/changes/log-entry.ts'
import { storedFollowers } from '../../src/core/tasks/following.ts'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import { ChangeLog } from '../../src/engines/sqlite/changes/change-log.ts'
import { Connection } from '../../src/engines/sqlite/connection.ts'
import { openSqliteEngine } from '../../src/engines/sqlite/engine.ts'
import { FollowedWrites } from '../../src/engines/sqlite/runs/followed-writes.ts'
import { fixtureOf, makeFixture, numbered, putOf, startMs } from '../conformance/fixture.ts'
import { declared } from '../conformance/runs.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'

// The writer remembers who follows a table. A commit that fails is tried again command by command, each of which usually lists the
// followers anew; here none does.

let dir: string
let db: Connection
let tableId: number

beforeEach(async () => {
  dir = makeTempDir()
  const engine = await openSqliteEngine({ dataDir: dir })
  tableId = (await makeFixture(engine)).table.id
  await engine.close()
  db = new Connection(join(dir, 'cubby.db'), 1_024)
})
afterEach(() => {
  db.close()
  removeTempDir(dir)
})

test('a declaration that is rolled back leaves no follower in memory', () => {
  const followedBy: number[] = []
  const runs = {
    addOfKey: (taskId: number) => {
      followedBy.push(taskId)
      return { created: true }
    },
  }
  const followed = new FollowedWrites(db, new ChangeLog(db), runs)
  const write = { hashKey: 'a', rangeKey: '#', kind: entryKind.put, version: startMs }
  const followers = storedFollowers([{ id: 77, declaration: { on: { table: 'orders', ops: ['put'] } } }])
  followed.note(tableId, write, startMs)
  expect(followedBy).toEqual([])
  db.run('BEGIN')
  db.change('UPDATE tables SET followers = ?2 WHERE id = ?1', tableId, followers)
  followed.forget(tableId)
  followed.note(tableId, write, startMs)
  db.run('ROLLBACK')
  expect([followedBy, followed.added]).toEqual([[77], 1])
  followed.rolledBack(0)
  followed.note(tableId, write, startMs)
  expect([followedBy, followed.added]).toEqual([[77], 0])
})

test('a commit has few writes that add many runs: those of others do not wait behind all of them', async () => {
  const groups: number[] = []
  const observer = { committed: (requests: number) => void groups.push(requests), runs: () => {} }
  const own = makeTempDir()
  const engine = await openSqliteEngine({ dataDir: own, observer })
  try {
    const { tenant, table } = await makeFixture(engine)
    const largest = async (at: typeof table): Promise<number> => {
      groups.length = 0
      const { write } = fixtureOf(engine, tenant, at)
      const batches = Array.from({ length: 24 }, (_, n) => numbered(25, `b${n}-`).map((key) => putOf(at, key)))
      await Promise.all(batches.map((batch) => write(batch)))
      return Math.max(...groups)
    }
    expect(await largest(table)).toBeGreaterThan(10)
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const on = { table: 'orders', ops: ['put' as const] }
      const declaration = { ...declared, on, keepsAuthorization: false, newSecret: newTaskSecret() }
      await engine.tasks.declare(tenant.caller, 'app', name, declaration, undefined, startMs)
    }
    const followed = (await engine.tables.find(tenant.org.id, 'app', 'orders'))!
    expect(await largest(followed)).toBeLessThanOrEqual(2)
  } finally {
    await engine.close()
    removeTempDir(own)
  }
})
