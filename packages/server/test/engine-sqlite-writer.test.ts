import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { makeApiKey } from '../src/core/api-keys/api-key.ts'
import { CubbyError } from '../src/core/errors.ts'
import { commitRequestsMax } from '../src/core/limits.ts'
import { followedOps } from '../src/core/tasks/following.ts'
import { newTaskSecret } from '../src/core/tasks/task-secret.ts'
import { type Fault, planFaults } from '../src/engines/sqlite/disk/fault-point.ts'
import { type EmbeddedEngine, openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import { prepareStore } from '../src/engines/sqlite/migrations/prepare-store.ts'
import { ThreadWriteChannel } from '../src/engines/sqlite/write/thread-write-channel.ts'
import { makeLog } from './conformance/change-fixture.ts'
import { type Fixture, fixtureOf, makeFixture, startMs, timeScan } from './conformance/fixture.ts'
import { declared } from './conformance/runs.ts'
import { expectSound } from './engine-conformance.ts'
import { eventually, makeTempDir, removeTempDir } from './harness.ts'

// These tests check the answers of a writer that fails. A caller that is told "nothing was applied" repeats the request;
// one that is told nothing waits for ever.

setDefaultTimeout(120_000)

let dir: string
let faults: string
let engine: EmbeddedEngine
let fixture: Fixture

beforeEach(async () => {
  dir = makeTempDir()
  faults = join(dir, 'faults')
  engine = await openSqliteEngine({ dataDir: join(dir, 'data'), faults })
  fixture = await makeFixture(engine)
})
afterEach(async () => {
  await engine.close()
  removeTempDir(dir)
})

/** A table that keeps its changes and is followed by a task. */
const makeFollowedLog = async (own: EmbeddedEngine): Promise<Fixture> => {
  const { tenant, table } = await makeLog(own)
  const on = { table: table.name, ops: [...followedOps] }
  const task = { ...declared, on, keepsAuthorization: false, newSecret: newTaskSecret() }
  await own.tasks.declare(tenant.caller, 'app', 'index', task, undefined, startMs)
  return fixtureOf(own, tenant, (await own.tables.find(tenant.org.id, 'app', table.name))!)
}

const plan = (fault: Fault): void => planFaults(faults, [fault])

/** `applied`, or the code of the refusal. */
const tryPut = (name: string): Promise<string> =>
  fixture.put(name).then(
    () => 'applied',
    (error) => (error instanceof CubbyError ? error.code : String(error)),
  )

const putsAgain = (): Promise<unknown> =>
  eventually('a put is applied', async () => ((await tryPut('again')) === 'applied' ? true : undefined))

describe('the writer thread dies with a commit open', () => {
  test('in-flight writes are outcome_unknown, queued ones unavailable, and none stays unanswered', async () => {
    plan({ at: 'begun', code: 'SQLITE_MISUSE' })
    const names = Array.from({ length: 2 * commitRequestsMax + 50 }, (_, i) => `k${i}`)
    const outcomes = await Promise.all(names.map(tryPut))
    expect(existsSync(`${faults}.hit`)).toBe(true)
    expect(new Set(outcomes)).toEqual(new Set(['outcome_unknown', 'unavailable']))
    expect(outcomes.filter((outcome) => outcome === 'outcome_unknown').length).toBeLessThanOrEqual(commitRequestsMax)
    expect(await fixture.names(timeScan())).toEqual([])
    // The next thread is not kept waiting by the transaction of the dead one.
    await putsAgain()
    expect(await fixture.names(timeScan())).toEqual(['again'])
    await expectSound(engine)
  })
})

describe('a failed commit', () => {
  test('is outcome_unknown, and the next write goes through a new connection, with ids of its own', async () => {
    plan({ at: 'commit', code: 'SQLITE_PROTOCOL' })
    expect(await tryPut('a')).toBe('outcome_unknown')
    expect(await tryPut('b')).toBe('applied')
    expect(await fixture.names(timeScan())).toEqual(['b'])
    await expectSound(engine)
  })

  test('for which the disk is full applied nothing, and ids of its block are not given out', async () => {
    plan({ at: 'commit', code: 'SQLITE_FULL' })
    expect(await tryPut('a')).toBe('storage_full')
    expect(await tryPut('b')).toBe('applied')
    expect(await fixture.names(timeScan())).toEqual(['b'])
    await expectSound(engine)
  })
})

describe('a fatal statement', () => {
  for (const [code, answer] of [
    ['SQLITE_IOERR_WRITE', 'internal'],
    ['SQLITE_FULL', 'storage_full'],
  ] as const) {
    test(`${code}: nothing is applied, and ids of its block are not given out`, async () => {
      plan({ at: 'statement', code })
      expect(await Promise.all(['a', 'b'].map(tryPut))).toEqual([answer, answer])
      expect(await tryPut('c')).toBe('applied')
      expect(await fixture.names(timeScan())).toEqual(['c'])
      await expectSound(engine)
    })
  }
})

test('a statement that fails by itself: nothing of it is applied, and ids of its block are not given out', async () => {
  plan({ at: 'statement', code: 'SQLITE_ERROR' })
  expect(await tryPut('a')).toBe('internal')
  expect(await tryPut('b')).toBe('applied')
  expect(await fixture.names(timeScan())).toEqual(['b'])
  await expectSound(engine)
})

test('of a group whose second command fails alone, the first tells of its log and counts its runs', async () => {
  let added = 0
  const observer = {
    committed: () => {},
    runs: (_: string, count: number) => {
      added += count
    },
  }
  const own = await openSqliteEngine({ dataDir: join(dir, 'observed'), faults, observer })
  try {
    const { put, table } = await makeFollowedLog(own)
    const noted: number[] = []
    own.changes.follow(table, (seq) => noted.push(seq))
    const tryOwn = (name: string) =>
      put(name).then(
        () => 'applied',
        ({ code }) => code,
      )
    planFaults(faults, [
      { at: 'statement', code: 'SQLITE_ERROR' },
      // The first of the two alone, just before its COMMIT.
      { at: 'commit', waitMs: 1 },
      { at: 'statement', code: 'SQLITE_ERROR' },
    ])
    const { seq } = await own.changes.head(table)
    expect(await Promise.all(['a', 'b'].map(tryOwn))).toEqual(['applied', 'internal'])
    expect(existsSync(`${faults}.hit`)).toBe(true)
    await eventually('it is counted', () => (added === 1 ? true : undefined))
    expect(noted).toEqual([seq + 1])
    await expectSound(own)
  } finally {
    await own.close()
  }
})

test('a committed write is answered whatever the callback after the commit throws', async () => {
  const path = join(dir, 'cubby.db')
  await prepareStore(path, { isHolder: false })
  const logged: string[] = []
  const log = (_: string, message: string): never => {
    logged.push(message)
    throw new Error('the log cannot be written')
  }
  const port = await ThreadWriteChannel.open({ path, log, checkpoints: false, onDiskFailure: () => {} })
  try {
    port.onCommit = () => {
      throw new Error('a fault')
    }
    const create = (name: string) =>
      port.submit({
        kind: 'createOrganization',
        nowMs: startMs,
        name,
        keys: [],
        onlyIfFirst: false,
      })
    expect(await Promise.all(['one', 'two', 'one'].map(create))).toMatchObject([
      { name: 'one' },
      { name: 'two' },
      undefined,
    ])
    expect(logged.length).toBeGreaterThan(0)
  } finally {
    await port.close()
  }
})

// The server beside a command believes what it read of the registry for as long as its lease runs.
test('a revocation by a guest is answered only when no lease of the server is older than it', async () => {
  const guest = await openSqliteEngine({ dataDir: join(dir, 'data'), role: 'guest' })
  try {
    const { tenant } = fixture
    for (let round = 0; round < 4; round++) {
      const { kept, text } = makeApiKey({ kind: 'public' })
      await engine.apiKeys.create(tenant.caller, kept, startMs)
      expect(await engine.apiKeys.find(text)).toMatchObject({ revokedAtMs: null })
      let done = false
      // Reads all the time, so that a lease was taken just before the revocation.
      const reading = (async () => {
        while (!done) {
          await engine.apiKeys.find(text)
          await Bun.sleep(1)
        }
      })()
      await guest.apiKeys.revoke(tenant.operator, kept.id, startMs + 1)
      expect(await engine.apiKeys.find(text)).toMatchObject({ revokedAtMs: startMs + 1 })
      done = true
      await reading
    }
  } finally {
    await guest.close()
  }
})
