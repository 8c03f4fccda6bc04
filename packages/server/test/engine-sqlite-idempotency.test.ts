import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from '../src/engines/sqlite/connection.ts'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import { checkStore } from '../src/engines/sqlite/maintenance/check.ts'
import type { Command } from '../src/engines/sqlite/write/command.ts'
import { IdempotencyKeyWrites, removeIdempotencyKeys } from '../src/engines/sqlite/write/idempotency-key-writes.ts'
import { WriteConnection } from '../src/engines/sqlite/write/write-connection.ts'
import type { Once } from '../src/store/idempotency.ts'

// The newest keys are not in the index yet. A key that is in neither place, or is left behind in the index, would be applied
// twice or answered with the result of another request. The cases of the conformance suite have too few keys to reach the
// index, so these tests keep only a few in memory.

setDefaultTimeout(60_000)

const recentMax = 50
const count = 600

let dir = ''
let db: Connection
let keys: IdempotencyKeyWrites

const open = (): void => {
  db = new Connection(join(dir, 'cubby.db'), 1_024)
  keys = new IdempotencyKeyWrites(db, recentMax)
}

const reopen = (): void => {
  db.close()
  open()
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cubby-keys-'))
  await (await openSqliteEngine({ dataDir: dir })).close()
  open()
  db.run(`INSERT INTO organizations (id, name, created_at) VALUES (1, 'acme', 0)`)
  db.run(
    `INSERT INTO tables (id, org_id, db, name, indices, created_at) VALUES (1, 1, 'app', 'a', '{}', 0), (2, 1, 'app', 'b', '{}', 0)`,
  )
})
afterEach(() => {
  db.close()
  rmSync(dir, { recursive: true, force: true })
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The key `name`. Those with the same `end` share their short hash. */
const onceOf = (name: string, end = '', scope: Partial<Once> = {}): Once => ({
  ...{ scopeId: 1, scopeKind: 'table', keyHash: `${sha256(name).slice(0, 64 - end.length)}${end}` },
  ...{ requestHash: sha256(`request ${name}`), ...scope },
})

const numbered = (from: number, to: number): Once[] =>
  Array.from({ length: to - from }, (_, i) => onceOf(`k${from + i}`))

const keep = (once: Once, nowMs = 0): void => keys.keep(once, 1, nowMs, { of: once.requestHash })

/** In one transaction, because each has a sync. */
const keepAll = (all: Once[], timeOf: (i: number) => number = () => 0): void => {
  db.run('BEGIN IMMEDIATE')
  for (const [i, once] of all.entries()) {
    expectNew([once])
    keep(once, timeOf(i))
  }
  db.run('COMMIT')
}

const remove = (...which: [string, ...number[]]): number => {
  db.run('BEGIN IMMEDIATE')
  const removed = removeIdempotencyKeys(db, ...which)
  db.run('COMMIT')
  return removed
}

const expectKept = (kept: Once[]): void => {
  for (const once of kept) expect(keys.replay(once)).toEqual({ of: once.requestHash, isReplayed: true })
}

const expectNew = (others: Once[]): void => {
  for (const once of others) expect(keys.find(once)).toBeUndefined()
}

const indexed = (): number => db.count('idempotency_key_index')
const marker = (): number =>
  db.one<{ value: number }>(`SELECT value FROM meta WHERE name = 'idempotency_keys_indexed'`)!.value

const findings = (): Promise<string[]> => Array.fromAsync(checkStore(db))

test('every key is found, before and after it enters the index, and after a start', async () => {
  const all = numbered(0, count)
  for (let to = 100; to <= count; to += 100) {
    keepAll(all.slice(to - 100, to))
    expectKept(all.slice(0, to))
  }
  expect(indexed()).toBeGreaterThan(count / 2)
  expect(indexed()).toBeLessThan(count)
  expect(marker()).toBeGreaterThan(0)
  expect(marker()).toBeLessThan(count)
  reopen()
  expectKept(all)
  expectNew(numbered(count, count + 100))
  keepAll(numbered(count, 2 * count))
  expectKept(numbered(0, 2 * count))
  expect(await findings()).toEqual([])
})

test('keys that share a short hash, and one text in several scopes, stay apart', async () => {
  const shared = ['a', 'b', 'c'].map((name) => onceOf(name, 'fedcba987654'))
  const scopes = [{ scopeId: 2 }, { scopeKind: 'organization' }, {}].map((scope) => onceOf('same', '', scope))
  const all = [...shared, ...scopes]
  keepAll(all)
  expectKept(all)
  expect(() => keys.replay({ ...shared[0]!, requestHash: sha256('another') })).toThrow('Another request was applied')
  reopen()
  expectKept(all)
  keepAll(numbered(0, count))
  expectKept(all)
  expect(await findings()).toEqual([])
})

test('a transaction that is rolled back leaves no key, and loses none that it moved into the index', async () => {
  const before = numbered(0, 200)
  keepAll(before)
  const [entries, indexedTo] = [indexed(), marker()]
  db.run('BEGIN IMMEDIATE')
  for (const once of numbered(200, 500)) keep(once)
  expect(indexed()).toBeGreaterThan(entries)
  db.run('ROLLBACK')
  keys.forget()
  expect([indexed(), marker()]).toEqual([entries, indexedTo])
  expectKept(before)
  expectNew(numbered(200, 500))
  keepAll(numbered(500, 900))
  expectKept([...before, ...numbered(500, 900)])
  expectNew(numbered(200, 500))
  expect(await findings()).toEqual([])
})

test('of keys that a failed group moved into the index none is lost: the group is rolled back, and memory is read again', async () => {
  const path = join(dir, 'cubby.db')
  // As many as stay in memory, so that the next key moves some of them.
  const before = numbered(0, 32_768)
  keys = new IdempotencyKeyWrites(db)
  keepAll(before)
  expect(indexed()).toBe(0)
  db.close()
  const writer = new WriteConnection(path)
  const fence = { epoch: 1, orgId: 1, keySeq: null, tableId: 1 }
  const put = { op: 'delete', hashKey: 'a', rangeKey: '#', condition: undefined } as const
  const next: Command = { kind: 'write', fence: { ...fence, once: onceOf('next') }, nowMs: 1, operations: [put] }
  const broken = { kind: 'load', rows: { organizations: 7 } } as unknown as Command
  const outcomes = writer.commit([next, broken])
  expect(outcomes.map((outcome) => Object.keys(outcome))).toEqual([['value'], ['failure']])
  const wanted = [...before, onceOf('next')]
  const found = writer.commit(wanted.map((key): Command => ({ kind: 'findIdempotencyKey', key, orgId: 1 })))
  expect(found.filter((outcome) => !('value' in outcome && outcome.value !== undefined))).toEqual([])
  writer.db.close()
  open()
  expect(indexed()).toBeGreaterThan(0)
  expectKept(before.slice(0, 100))
  expect(await findings()).toEqual([])
})

test('removed keys are new again, wherever they were; none of their entries stays behind', async () => {
  for (let round = 0; round < 3; round++) {
    const all = numbered(0, count)
    keepAll(all, (i) => i % 2)
    const removed = all.filter((_, i) => i % 2 === 0)
    expect(remove('org_id = ?1 AND created_at = ?2', 1, 0)).toBe(removed.length)
    expectNew(removed)
    expectKept(all.filter((_, i) => i % 2 === 1))
    expect(await findings()).toEqual([])
    remove('org_id = ?1', 1)
    expectNew(all)
    expect(indexed()).toBe(0)
    // If ids up to the marker were used again, these keys would be in neither place.
    reopen()
    const few = numbered(0, 10)
    keepAll(few)
    reopen()
    expectKept(few)
    remove('org_id = ?1', 1)
  }
})

test('verify finds a key that is not in the index or has no result, and an entry of a key that is gone', async () => {
  keepAll(numbered(0, count))
  expect(await findings()).toEqual([])
  db.run(`UPDATE idempotency_keys SET result = substr(result, 2) WHERE id = 5`)
  db.run('DELETE FROM idempotency_key_index WHERE id = 7')
  db.run('DELETE FROM idempotency_keys WHERE id = 9')
  expect(await findings()).toEqual([
    'idempotency key 7 is not in its index',
    'idempotency key 5: its result is not JSON',
    'the index of idempotency keys has a wrong entry for 9',
  ])
})
