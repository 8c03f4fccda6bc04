import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import type { CubbyError } from '../src/core/errors.ts'
import { newBlobId } from '../src/core/files/blob-id.ts'
import { fileKey, readFileContent } from '../src/core/files/file-record.ts'
import { deadBlobMs, pendingBlobMs, recoveryMs, sweepGraceMs } from '../src/core/limits.ts'
import { openPostgresEngine, type PostgresOptions } from '../src/engines/postgres/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import {
  expectRefusal,
  makeTenant,
  numbered,
  putOf,
  startMs,
  startSeconds,
  type Tenant,
  tenantThrough,
  versionsOf,
} from './conformance/fixture.ts'
import { expectSound } from './engine-conformance.ts'
import { eventually } from './harness.ts'
import { bucketOf, contentOf, makeBucket, type TestBucket } from './postgres-files.ts'
import { recordStatements } from './postgres-recorder.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// Several processes write files of one bucket. A blob that is live without a record is never removed; a record whose blob is
// dead loses its bytes. So whatever the processes do at once, each file has its own live blob, and every other blob is due.

setDefaultTimeout(120_000)

let server: PostgresServer
let url = ''
const opened: Engine[] = []

beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'off', deadlock_timeout: '100ms' }, auth: 'password' })
  url = await server.createDatabase('files')
}, 120_000)

afterEach(async () => {
  await Promise.all(opened.splice(0).map((engine) => engine.close()))
  await server.empty(url)
})

afterAll(() => server.remove(), 60_000)

const open = async (options: Partial<PostgresOptions> = {}): Promise<Engine> => {
  const engine = await openPostgresEngine({ url, leaseMs: 20, sweepClock: 'caller', ...options })
  opened.push(engine)
  return engine
}

interface Side {
  engine: Engine
  tenant: Tenant
  files: TestBucket
}

/** Two processes on one bucket. */
const openTwo = async (options: Partial<PostgresOptions> = {}): Promise<[Side, Side]> => {
  const [one, other] = [await open(options), await open(options)]
  const tenant = await makeTenant(one)
  const files = await makeBucket(one, tenant)
  const theirs = await tenantThrough(other, tenant)
  const bucket = (await other.buckets.findById(files.bucket.publicId!))!
  return [
    { engine: one, tenant, files },
    { engine: other, tenant: theirs, files: bucketOf(other, theirs, bucket) },
  ]
}

const blobsIn = async (state: string): Promise<string[]> =>
  (await server.query(`select id from cubby_blob_8 where state = '${state}' order by id`, url)).map(
    ({ id }) => id as string,
  )

/** The blob of each file. */
const blobOf = async ({ engine, files }: Side, name: string): Promise<string | undefined> => {
  const record = await engine.records.get(files.bucket, fileKey(name), startMs)
  return record && readFileContent(record.data).blob
}

const deadlocks = async (): Promise<number> => {
  await server.query('select pg_stat_force_next_flush()', url)
  return Number((await server.query(`select deadlocks from pg_stat_database where datname = 'files'`))[0]!.deadlocks)
}

/** A transaction beside the service that holds what `sql` locks. */
const hold = async (sql: string) => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query(`begin; ${sql}`)
  return async () => {
    await client.query('commit')
    await client.end()
  }
}

/** The process ids of our connections that wait for a lock. */
const waiting = () =>
  eventually('a statement that waits for a lock', async () => {
    const rows = await server.query(
      `select pid from pg_stat_activity where application_name = 'cubby' and wait_event_type = 'Lock'`,
    )
    return rows.length > 0 ? rows.map(({ pid }) => pid as number) : undefined
  })

describe('two processes at once', () => {
  test('that commit one name: each commit has its own version, and one blob is live', async () => {
    const sides = await openTwo()
    for (let round = 0; round < 10; round++) {
      const name = `f${round}`
      const blobs = await Promise.all(numbered(6).map((_, i) => sides[i % 2]!.files.begin()))
      const results = await Promise.all(blobs.map((blob, i) => sides[i % 2]!.files.commit(name, blob)))
      const versions = results.map((result) => versionsOf(result)[0]!).sort()
      expect(versions).toEqual(blobs.map((_, i) => startMs + i))
      const last = results.findIndex((result) => versionsOf(result)[0] === startMs + 5)
      expect(await blobOf(sides[0], name)).toBe(blobs[last]!)
    }
    expect(await blobsIn('live')).toHaveLength(10)
    expect(await blobsIn('dead')).toHaveLength(50)
    await expectSound(sides[0].engine)
  })

  // With a time above every version a commit is one round trip: it must notice by itself what the other process did.
  test.each([true, false])(
    'that commit and remove one name at times of their own: every blob but those of files is dead (in one round trip: %p)',
    async (pipelinesAreTransactions) => {
      const sides = await openTwo({ dialect: { pipelinesAreTransactions } })
      let clock = startMs
      let begun = 0
      for (let round = 0; round < 12; round++) {
        const name = `f${round}`
        const work = numbered(8).map(async (_, i) => {
          const { engine, tenant, files } = sides[i % 2]!
          if (i === 5) return engine.files.remove(tenant.caller, files.bucket, name, undefined, ++clock)
          begun++
          const ttlSeconds = i === 3 ? startSeconds : null
          return files.commit(name, await files.begin(), { ttlSeconds }, ++clock)
        })
        for (const result of await Promise.all(work)) expect(result.applied).toBe(true)
      }
      const [live, dead] = [await blobsIn('live'), await blobsIn('dead')]
      expect(live.length + dead.length).toBe(begun)
      expect(await blobsIn('pending')).toEqual([])
      await expectSound(sides[0].engine)
    },
  )

  test('that commit one name if it is free: one of them does, the bytes of the others are due an hour later', async () => {
    const sides = await openTwo()
    for (let round = 0; round < 10; round++) {
      const blobs = await Promise.all(numbered(4).map((_, i) => sides[i % 2]!.files.begin()))
      const results = await Promise.all(
        blobs.map((blob, i) => sides[i % 2]!.files.commit(`f${round}`, blob, { condition: 'absent' })),
      )
      const [first, ...more] = results.flatMap(({ applied }, i) => (applied ? [blobs[i]!] : []))
      expect(more).toEqual([])
      expect(await blobOf(sides[1], `f${round}`)).toBe(first!)
    }
    expect(await sides[0].engine.files.takeDue(startMs + deadBlobMs - 1, 100)).toEqual([])
    expect(await sides[0].engine.files.takeDue(startMs + deadBlobMs, 100)).toHaveLength(30)
    await expectSound(sides[0].engine)
  })

  // A short time limit on deadlocks, and few names: a cycle of locks would be found within the test.
  test('that commit, change, remove and sweep the same files: no deadlock, and every blob is accounted for', async () => {
    const sides = await openTwo()
    const before = await deadlocks()
    const names = numbered(4)
    const removed = new Set<string>()
    const failed = new Set<string>()
    const act = async ({ engine, tenant: { caller }, files }: Side, i: number): Promise<void> => {
      const name = names[(i * 7) % names.length]!
      const { bucket } = files
      switch (i % 6) {
        case 0:
        case 1:
          await files.putFile(name, { ttlSeconds: i % 4 === 0 ? startSeconds + 1 : null })
          break
        case 2:
          await engine.files.change(caller, bucket, name, { metadata: `{"i":${i}}` }, undefined, startMs)
          break
        case 3:
          await engine.files.remove(caller, bucket, name, undefined, startMs)
          break
        case 4: {
          const blob = await files.begin()
          await engine.files.keepAlive([blob], startMs + i)
          await engine.maintenance.sweepExpired(startMs + 2_000 + sweepGraceMs, 10)
          await files.commit(name, blob)
          break
        }
        default: {
          const taken = await engine.files.takeDue(startMs + 2 * deadBlobMs, 5)
          for (const id of taken) {
            if (removed.has(id)) failed.add(`${id} was taken twice`)
            removed.add(id)
          }
          await engine.files.forget(taken)
        }
      }
    }
    const outcomes: unknown[] = []
    const worker = async (side: Side, from: number): Promise<void> => {
      for (let i = from; i < from + 60; i++) await act(side, i).catch((error: unknown) => outcomes.push(error))
    }
    await Promise.all([...sides, ...sides, ...sides].map((side, n) => worker(side, 11 * n)))
    expect(outcomes).toEqual([])
    expect([...failed]).toEqual([])
    expect(removed.size).toBeGreaterThan(20)
    expect((await deadlocks()) - before).toBe(0)
    for (const { engine } of sides) await expectSound(engine)
    // No live blob was removed.
    expect((await blobsIn('live')).filter((id) => removed.has(id))).toEqual([])
  })

  test.each([true, false])(
    'that take what is due: each blob goes to one of them (namesManyTables: %p)',
    async (namesManyTables) => {
      const sides = await openTwo({ dialect: { namesManyTables } })
      const second = await makeBucket(sides[0].engine, sides[0].tenant, 'second')
      const blobs = await Promise.all(numbered(40).map((_, i) => (i % 2 === 0 ? sides[0].files : second).begin()))
      for (const blob of blobs) await sides[0].engine.files.abandon(blob, startMs)
      const taken: string[] = []
      const drain = async (engine: Engine): Promise<void> => {
        // An empty answer may mean that the other one holds the rest at this moment.
        for (let idle = 0, calls = 0; idle < 3 && calls < 100; calls++) {
          const ids = await engine.files.takeDue(startMs, 3)
          idle = ids.length === 0 ? idle + 1 : 0
          taken.push(...ids)
        }
      }
      await Promise.all(sides.map(({ engine }) => drain(engine)))
      expect(taken.toSorted()).toEqual(blobs.toSorted())
      // The blobs are not forgotten: a later sweep takes them again.
      expect(await sides[1].engine.files.takeDue(startMs + pendingBlobMs, 100)).toHaveLength(40)
    },
  )

  test('that write the mark of the place: they agree', async () => {
    const sides = await openTwo()
    for (let round = 0; round < 10; round++) {
      const marks = await Promise.all(numbered(6).map((mark, i) => sides[i % 2]!.engine.files.writeMark(mark)))
      expect(new Set(marks).size).toBe(1)
      expect(await sides[1].engine.files.readMark()).toBe(marks[0]!)
      await server.query('update cubby_store set file_mark = null', url)
    }
  })

  test('that sweep one bucket with two ways: the bytes of every expired file are due, those of others stay', async () => {
    for (const namesManyTables of [true, false]) {
      const [one, other] = await openTwo({ dialect: { namesManyTables } })
      const { table } = await one.engine.tables.create(
        one.tenant.caller,
        'app',
        'plain',
        { i3: { hashField: 's' } },
        startMs,
      )
      // NUL is no character of PostgreSQL's text: what is not a file's must not be converted.
      const puts = ['\0', 'f', 'f\0'].map((s, i) =>
        putOf(table, `k${i}`, { data: { s }, ttlSeconds: startSeconds + 1 }),
      )
      await one.engine.records.write(one.tenant.caller, table, puts, startMs)
      const expired = await Promise.all(
        numbered(20).map((name) => one.files.putFile(name, { ttlSeconds: startSeconds + 1 })),
      )
      const live = await one.files.putFile('live')
      const sweep = async (engine: Engine): Promise<number> => {
        let sum = 0
        for (let step = 0; step < 50; step++) {
          const removed = await engine.maintenance.sweepExpired(startMs + 2_000 + sweepGraceMs, 4)
          if (removed === 0) break
          sum += removed
        }
        return sum
      }
      const sums = await Promise.all([one, other].map(({ engine }) => sweep(engine)))
      expect(sums[0]! + sums[1]! + (await sweep(one.engine))).toBe(23)
      expect(await blobsIn('dead')).toEqual(expired.toSorted())
      expect(await blobsIn('live')).toEqual([live])
      await expectSound(one.engine)
      await server.empty(url)
    }
  })
})

describe('a commit', () => {
  const file = "table_id > 0 and range_key = 'a'::bytea"

  test('whose connection dies while it waits for the record is tried again, and is applied once', async () => {
    const [side] = await openTwo()
    const first = await side.files.putFile('a')
    const blob = await side.files.begin()
    const release = await hold(`select 1 from cubby_record_8 where ${file} for update`)
    const committing = side.files.commit('a', blob)
    const [pid] = await waiting()
    await server.query(`select pg_terminate_backend(${pid})`)
    await waiting()
    await release()
    expect(versionsOf(await committing)).toEqual([startMs + 1])
    expect([await blobsIn('live'), await blobsIn('dead')]).toEqual([[blob], [first]])
    await expectSound(side.engine)
  })

  test('whose connection dies in its last statements leaves nothing behind, and is tried again', async () => {
    const [side] = await openTwo()
    const first = await side.files.putFile('a')
    const blob = await side.files.begin()
    // The record is written by then, uncommitted; the old blob comes last.
    const release = await hold(`select 1 from cubby_blob_8 where id = '${first}' for update`)
    const committing = side.files.commit('a', blob).then(versionsOf, (error: CubbyError) => error.code)
    const [pid] = await waiting()
    expect(await blobOf(side, 'a')).toBe(first)
    await server.query(`select pg_terminate_backend(${pid})`)
    await eventually('the connection is gone', async () => {
      const rows = await server.query(`select 1 from pg_stat_activity where pid = ${pid}`)
      return rows.length === 0 ? true : undefined
    })
    await release()
    expect(await committing).toEqual([startMs + 1])
    expect([await blobsIn('live'), await blobsIn('dead')]).toEqual([[blob], [first]])
    await expectSound(side.engine)
  })

  // The server is stopped between the two round trips, so COMMIT is sent and never answered.
  test('that is never answered is of unknown outcome, and is not sent again', async () => {
    const engine = await open({ poolSize: 1, statementMsMax: 300 })
    const tenant = await makeTenant(engine)
    const files = await makeBucket(engine, tenant)
    const first = await files.putFile('a')
    const blob = await files.begin()
    const release = await hold(`select 1 from cubby_blob_8 where id = '${first}' for update`)
    const committing = expectRefusal(files.commit('a', blob), 'outcome_unknown')
    const [pid] = await waiting()
    process.kill(pid!, 'SIGSTOP')
    try {
      await committing
    } finally {
      process.kill(pid!, 'SIGCONT')
      await release()
    }
    await eventually('its transaction has ended', async () => {
      const rows = await server.query(`select 1 from pg_stat_activity where pid = ${pid}`)
      return rows.length === 0 ? true : undefined
    })
    // Either way the store is sound, and abandoning the upload does not touch a file that was written.
    await engine.files.abandon(blob, startMs)
    const other = await open()
    await expectSound(other)
    expect(await blobsIn('live')).toHaveLength(1)
  })

  test('that waited while its bucket was deleted is refused: the deletion does not wait for it', async () => {
    const [side, other] = await openTwo()
    await side.files.putFile('a')
    const blob = await side.files.begin()
    const release = await hold(`select 1 from cubby_record_8 where ${file} for update`)
    const committing = expectRefusal(side.files.commit('a', blob), 'bucket_not_found')
    await waiting()
    await other.engine.buckets.delete(other.tenant.caller, 'app', 'avatars', startMs + 1)
    await release()
    await committing
    expect(await blobsIn('pending')).toEqual([blob])
    await expectSound(other.engine)
  })

  test('that has written its record when its bucket is deleted is refused, and nothing of it stays', async () => {
    const [side, other] = await openTwo()
    const first = await side.files.putFile('a')
    const blob = await side.files.begin()
    const release = await hold(`select 1 from cubby_blob_8 where id = '${first}' for update`)
    // The guard is its last statement. It waits for the old blob before that, and is listed among the writes in flight.
    const committing = side.files.commit('a', blob).then(versionsOf, (error: CubbyError) => error.code)
    await waiting()
    const deleted = other.engine.buckets.delete(other.tenant.caller, 'app', 'avatars', startMs + 1)
    await Bun.sleep(100)
    await release()
    expect(await committing).toBe('bucket_not_found')
    await deleted
    expect(await blobsIn('live')).toEqual([first])
  })

  test('of a blob that is live already changes nothing, also if its condition fails', async () => {
    const [side] = await openTwo()
    const blob = await side.files.putFile('a')
    // This is the case of an answer that was lost.
    expect((await side.files.commit('a', blob, { condition: 'absent' })).applied).toBe(false)
    await expectRefusal(side.files.commit('a', blob), 'unavailable')
    expect(await blobsIn('live')).toEqual([blob])
    await expectSound(side.engine)
  })

  test('if the name is free, at a later time: refused while the file is live', async () => {
    const [side] = await openTwo()
    const first = await side.files.putFile('a', { ttlSeconds: startSeconds + 10 })
    const refused = await side.files.commit('a', await side.files.begin(), { condition: 'absent' }, startMs + 9_999)
    expect(refused).toEqual({ applied: false, failedOperation: 0, current: startMs })
    expect(await blobsIn('live')).toEqual([first])
    const second = await side.files.begin()
    expect((await side.files.commit('a', second, { condition: 'absent' }, startMs + 10_000)).applied).toBe(true)
    expect(await blobsIn('live')).toEqual([second])
  })

  test('of a new file, over one of an earlier time, and over an expired one is one round trip', async () => {
    const recorder = recordStatements()
    try {
      const [side] = await openTwo()
      await side.files.putFile('a')
      await side.files.commit('a', await side.files.begin(), { ttlSeconds: startSeconds }, startMs + 1)
      await side.files.commit('a', await side.files.begin(), { condition: 'absent' }, startMs + 2)
      const names = () => [...recorder.sent.values()].map(({ name }) => name)
      expect(names()).toContain('file_put_absent')
      expect(names()).not.toContain('file_lock')
      await side.files.commit('a', await side.files.begin(), {}, startMs + 2)
      expect(names()).toContain('file_lock')
      await expectSound(side.engine)
    } finally {
      recorder.stop()
    }
  })

  test('over an expired file makes a new record: it is the last of those with the same time', async () => {
    const [side] = await openTwo()
    await side.files.putFile('a', { ttlSeconds: startSeconds })
    await side.files.putFile('b')
    const idOf = async (name: string) =>
      Number((await server.query(`select id from cubby_record_8 where range_key = '${name}'::bytea`, url))[0]!.id)
    const before = await idOf('a')
    await side.files.putFile('a')
    expect(await idOf('a')).toBeGreaterThan(await idOf('b'))
    expect(await idOf('b')).toBeGreaterThan(before)
  })
})

test('a purge and a sweep of one bucket at once: the bytes of all its files are due', async () => {
  const [one, other] = await openTwo()
  const blobs = await Promise.all(
    numbered(30).map((name, i) => one.files.putFile(name, { ttlSeconds: i % 2 === 0 ? startSeconds + 1 : null })),
  )
  const pending = await one.files.begin()
  await one.engine.buckets.delete(one.tenant.caller, 'app', 'avatars', startMs)
  const laterMs = startMs + recoveryMs + sweepGraceMs
  const purge = async (engine: Engine): Promise<void> => {
    for (let step = 0; step < 50; step++) if ((await engine.maintenance.purgeTables(laterMs, 3)) === 0) return
  }
  const sweep = async (engine: Engine): Promise<void> => {
    for (let step = 0; step < 50; step++) if ((await engine.maintenance.sweepExpired(laterMs, 3)) === 0) return
  }
  await Promise.all([purge(one.engine), sweep(other.engine), purge(other.engine)])
  await purge(one.engine)
  expect(await server.query('select count(*)::int as rows from cubby_record_8', url)).toEqual([{ rows: 0 }])
  expect(await server.query('select count(*)::int as rows from cubby_table_8', url)).toEqual([{ rows: 0 }])
  expect(await blobsIn('dead')).toEqual(blobs.toSorted())
  // An upload that was in flight is removed a day after its last progress.
  expect(await other.engine.files.takeDue(startMs + pendingBlobMs, 100)).toEqual([pending])
  await expectSound(one.engine)
})

test('a sweep whose clock runs ahead of the database’s takes nothing', async () => {
  const engine = await open({ sweepClock: 'database' })
  const tenant = await makeTenant(engine)
  const { bucket } = await makeBucket(engine, tenant)
  const blob = newBlobId(Date.now())
  await engine.files.begin(tenant.caller, bucket, blob, Date.now())
  expect(await engine.files.takeDue(Date.now() + 10 * pendingBlobMs, 10)).toEqual([])
  await engine.files.abandon(blob, Date.now() - 1_000)
  expect(await engine.files.takeDue(Date.now() + 10 * pendingBlobMs, 10)).toEqual([blob])
})

// ── Verify ─────────────────────────────────────────────────────────────────────────────────────────────────

describe('verify finds', () => {
  const findings = async (spoil: (bucket: number, blob: string) => string): Promise<string[]> => {
    const engine = await open()
    const tenant = await makeTenant(engine)
    const { bucket, putFile, begin } = await makeBucket(engine, tenant)
    const blob = await putFile('a/b')
    await putFile('other')
    await begin()
    await expectSound(engine)
    await server.query(spoil(bucket.id, blob), url)
    const noted: number[] = []
    const found = await Array.fromAsync(engine.maintenance.check({ table: (id) => noted.push(id) }))
    expect(noted).toEqual(found.map(() => bucket.id))
    // Whole ids: the digits of the bucket's may be part of a blob's.
    return found.map((line) => line.replaceAll(blob, 'BLOB').replaceAll(new RegExp(`\\b${bucket.id}\\b`, 'g'), 'N'))
  }

  test.each([
    [
      'a file whose blob has no row',
      'delete from cubby_blob_8 where id = $blob',
      'file "a/b" (bucket N): its blob BLOB is not live',
    ],
    [
      'a file whose blob is dead',
      `update cubby_blob_8 set state = 'dead', due_at_ms = 5 where id = $blob`,
      'file "a/b" (bucket N): its blob BLOB is not live',
    ],
    [
      'a live blob without a file',
      `delete from cubby_record_8 where range_key = 'a/b'::bytea`,
      'blob BLOB (bucket N) is live: 0 files refer to it, due at null',
    ],
    [
      'a live blob that would be removed',
      'update cubby_blob_8 set due_at_ms = 5 where id = $blob',
      'blob BLOB (bucket N) is live: 1 files refer to it, due at 5',
    ],
    [
      'a blob of two files',
      `insert into cubby_record_8 select id, table_id, hash_key, 'copy', updated_at, ttl_seconds, i1_hash, i1_range, i2_hash,
         i2_range, i3_hash, i3_range, i4_hash, i4_range, i5_hash, i5_range, data
       from cubby_record_8 where range_key = 'a/b'::bytea`,
      'blob BLOB (bucket N) is live: 2 files refer to it, due at null',
    ],
    [
      'index values that are not those of the file',
      `update cubby_record_8 set updated_at = updated_at + 1, i1_hash = 'spublic', i1_range = 'sa/b' where range_key = 'a/b'::bytea`,
      'file "a/b" (bucket N): i1 does not hold what its data says',
    ],
    [
      'a kind that is not known',
      `update cubby_table_8 set kind = 'drawer'`,
      'table N has a kind that is not known: "drawer"',
    ],
  ])('%s', async (_, sql, line) => {
    const found = await findings((_bucket, blob) => sql.replaceAll('$blob', `'${blob}'`))
    // Its live blobs have no bucket then.
    if (line.includes('drawer')) expect(found[0]).toBe(line)
    else expect(found).toEqual([line])
  })

  test('a blob that would never be removed, and a state that is not known', async () => {
    const found = await findings(
      () => `update cubby_blob_8 set due_at_ms = null where state = 'pending';
        insert into cubby_blob_8 (table_id, id, state, due_at_ms) select id, 'x', 'lost', 7 from cubby_table_8`,
    )
    expect(found.map((line) => line.replace(/[0-9a-f]{32}/, 'OTHER'))).toEqual([
      'blob OTHER (bucket N) is pending: 0 files refer to it, due at null',
      'blob x (bucket N) is lost: 0 files refer to it, due at 7',
    ])
  })
})

test('verify finds live blobs of buckets that do not exist; others wait for the sweep', async () => {
  const engine = await open()
  const { bucket, putFile, begin } = await makeBucket(engine, await makeTenant(engine))
  const blob = await putFile('a')
  await begin()
  await server.query(`delete from cubby_table_8; delete from cubby_record_8`, url)
  expect(await Array.fromAsync(engine.maintenance.check())).toEqual([
    `blob ${blob} (bucket ${bucket.id}): its bucket does not exist`,
  ])
})

test('a secret of another length is found by a check', async () => {
  const engine = await open()
  const earlier = JSON.stringify([{ secret: 'ab'.repeat(33), acceptsPlain: false, beginsAtMs: 0 }])
  await server.query(`update cubby_store set cursor_key = '\\x00', earlier_secrets = '${earlier}'`, url)
  expect(await Array.fromAsync(engine.maintenance.check())).toEqual([
    'a secret of the store has 1 bytes, not 32',
    'a secret of the store has 33 bytes, not 32',
  ])
  await server.query(`update cubby_store set cursor_key = '\\x${'ab'.repeat(32)}', earlier_secrets = '[]'`, url)
})

test('the key of signed URLs is the same in every process, and in a copy', async () => {
  const [one, other] = [await open(), await open()]
  const urlKeysOf = async (engine: Engine) => (await engine.secrets.at(0)).urlKeys
  const urlKeys = await urlKeysOf(one)
  expect(await urlKeysOf(other)).toEqual(urlKeys)
  expect(urlKeys.map(({ length }) => length)).toEqual([32])
  const copy = await openPostgresEngine({ url: await server.createDatabase(), leaseMs: 20 })
  try {
    expect(await urlKeysOf(copy)).not.toEqual(urlKeys)
    const dump = await one.transfer.openDump()
    await copy.transfer.load({ secrets: await dump.secrets() })
    await dump.close()
    expect(await urlKeysOf(copy)).toEqual(urlKeys)
  } finally {
    await copy.close()
  }
})

test('a copy has the live blobs, in any number, and the kinds and ids of its tables', async () => {
  const [{ engine, tenant, files }] = await openTwo()
  await engine.tables.create(tenant.caller, 'app', 'avatars', {}, startMs)
  for (const name of numbered(12)) await files.putFile(name)
  await files.putFile('k000000')
  await files.begin()
  const dump = await engine.transfer.openDump()
  const tables = await Array.fromAsync(dump.tables())
  expect(tables.map(({ kind, publicId }) => [kind, publicId])).toEqual([
    ['bucket', files.bucket.publicId],
    ['table', null],
  ])
  const blobs = await Array.fromAsync(dump.blobs())
  expect(blobs.map(({ id }) => id)).toEqual(await blobsIn('live'))
  for (const putsFromArrays of [true, false]) {
    const copy = await openPostgresEngine({ url: await server.createDatabase(), dialect: { putsFromArrays } })
    try {
      await copy.transfer.load({ organizations: await dump.organizations(), tables })
      for await (const records of dump.records(files.bucket.id, 0)) await copy.transfer.load({ records, blobs })
      // Repeated, as after an interruption.
      await copy.transfer.load({ blobs })
      await expectSound(copy)
      const again = await copy.transfer.openDump()
      expect(await Array.fromAsync(again.blobs())).toEqual(blobs)
      await again.close()
    } finally {
      await copy.close()
    }
  }
  await dump.close()
})

test('contents are stored as they are: the data of the record has the blob, the metadata as it was sent', async () => {
  const [{ engine, files }] = await openTwo()
  const blob = await files.begin()
  const content = contentOf(blob, { metadata: '{ "a": 1.50 }', visibility: 'public' })
  await files.commit('x', blob, { content })
  const record = await engine.records.get(files.bucket, fileKey('x'), startMs)
  expect(readFileContent(record!.data)).toEqual(content)
})
