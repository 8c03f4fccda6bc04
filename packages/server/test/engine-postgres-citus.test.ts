import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newStoreBlobId } from '../src/core/files/blob-id.ts'
import { batchOperationsMax, recoveryMs, sweepGraceMs } from '../src/core/limits.ts'
import { slots } from '../src/core/tables/indices.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import type { Engine } from '../src/store/engine.ts'
import type { DumpedRecord, LoadedBlob } from '../src/store/transfer.ts'
import {
  deleteOf,
  fillAtOnce,
  indexScan,
  makeFixture,
  numbered,
  putOf,
  startMs,
  startSeconds,
  versionsOf,
} from './conformance/fixture.ts'
import { makeBench } from './conformance/runs.ts'
import { describeEngine, expectSound } from './engine-conformance.ts'
import { createCitus } from './postgres-citus.ts'
import { makeBucket } from './postgres-files.ts'
import { startPostgresProxy } from './postgres-proxy.ts'
import { recordStatements, type Sent } from './postgres-recorder.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'
import { folderOf } from './stores/kept-stores.ts'

// Citus cannot be installed from the package registries. So this is PostgreSQL that says it is Citus: the engine takes the
// ways that it takes on Citus, and the whole suite runs on them. What PostgreSQL would allow and Citus refuses, or sends
// to every worker, is found by rules for the texts of the statements: all that were sent are looked at, at the end.

setDefaultTimeout(120_000)

// ── The rules ──────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Over all shards: those that only find out which tables and tasks have something to do, the copy of a store, and what names
 * a blob by its id alone.
 */
const spanning = [
  ...['find_expired', 'blobs_find_due', 'blobs_keep_alive', 'blobs_abandon', 'blobs_forget', 'dump_blobs'],
  ...[
    'dump_idempotency_keys',
    'find_old_idempotency_keys',
    'find_old_idempotency_keys_of_org',
    'idempotency_key_after',
    'find_old_idempotency_keys_of_user',
    'count_idempotency_keys_of_users',
  ],
  // One poll for all tables that somebody follows.
  ...['dump_changes', 'feeds'],
  ...['runs_find_expired', 'runs_find_expired_of', 'runs_next_leased', 'runs_find_ahead', 'runs_find_queued'],
  // An operator who takes over the files of another store needs these, and so does verify.
  ...['blobs_adopt', 'blobs_count_adopted'],
  // The metrics read one entry of an index.
  ...['first_expiry', 'first_due_blob'],
]
/** The same without names: the copy of a store. */
const spanningTexts = [
  /^select max\(seq\) from cubby_run_8$/,
  /^select count\(\*\) from cubby_run_8$/,
  /^declare dump_runs_\d+ no scroll cursor for select [^;]* from cubby_run_8 where seq > \d+ order by seq$/,
]

const registry = /\bcubby_(store|revoked_user|issuer|(organization|api_key|table|task)_8)\b/
const notAnAlias = ['where', 'set', 'order', 'group', 'limit', 'values', 'using', 'on', 'select', 'returning', 'for']

/** Lists what Citus would refuse, or would not send to one worker. */
const faultsOf = ({ name, text }: Sent): string[] => {
  const sql = text
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\s+/g, ' ')
    .toLowerCase()
  if (/^ ?alter table (if exists )?cubby_(records?|(record|blob|run)_8) rename constraint/.test(sql)) {
    return ['renames a constraint of a distributed table']
  }
  // Other DDL touches no rows.
  if (
    !/\bcubby_((record|blob|run)_8|idempotency_key|feed|change)\b/.test(sql) ||
    /^ ?(create|alter|lock|grant) /.test(sql)
  )
    return []
  const faults: string[] = []
  if (registry.test(sql)) faults.push('names records and a table of the registry')
  const spans = spanning.includes(name ?? '') || (name === undefined && spanningTexts.some((one) => one.test(sql)))
  if (spans && /\bfor (update|share)\b/.test(sql)) faults.push('locks rows of more than one table')
  for (const [, before, word] of sql.matchAll(
    /(\w+) cubby_(?:(?:record|blob|run)_8|idempotency_key|feed|change)\b(?: as)? ?(\w+)?/g,
  )) {
    if (before === 'into') {
      if (/\bselect\b/.test(sql)) faults.push('inserts records with a subquery')
      continue
    }
    const alias = word === undefined || notAnAlias.includes(word) ? '' : `${word}\\.`
    const namesTable = new RegExp(`(?:where|and) ${alias}(?:table|task|scope)_id = (?:\\$\\d+|\\d+)(?!\\d)`)
    if (!namesTable.test(sql) && !spans) faults.push('is about records of more than one table')
  }
  return faults
}

describe('the rules find', () => {
  const faults = (text: string, name?: string) => faultsOf({ name, text })

  test('a join of records with the registry', () => {
    const text =
      'select r.id, t.name from cubby_record_8 r join cubby_table_8 t on t.id = r.table_id where r.table_id = $1'
    expect(faults(text)).toEqual(['names records and a table of the registry'])
    expect(
      faults('delete from cubby_table_8 where not exists (select 1 from cubby_record_8 r where r.table_id = 1)'),
    ).toEqual(['names records and a table of the registry'])
  })

  test('what is about many tables, also where only a part of it is', () => {
    const many = ['is about records of more than one table']
    expect(faults('select max(id) from cubby_record_8')).toEqual(many)
    expect(faults('select r.id from cubby_record_8 r where r.table_id > $1::bigint')).toEqual(many)
    expect(faults('select r.id from cubby_record_8 r where (r.table_id, r.hash_key) > ($1, $2)')).toEqual(many)
    expect(faults('update cubby_record_8 as r set ttl = 1 where r.hash_key = $1')).toEqual(many)
    expect(faults('delete from cubby_record_8 where ttl < 5')).toEqual(many)
    expect(
      faults(`delete from cubby_record_8 as r using (select e.table_id from cubby_record_8 e where e.ttl <= $1) as x
        where r.table_id = x.table_id`),
    ).toEqual([...many, ...many])
    expect(
      faults(`delete from cubby_record_8 as r using (select e.hash_key from cubby_record_8 e where e.ttl <= $1) as x
        where r.table_id = $1 and r.hash_key = x.hash_key`),
    ).toEqual(many)
    expect(faults('select e.table_id from cubby_record_8 e where e.ttl <= $1', 'find_expired')).toEqual([])
    expect(faults('select b.id from cubby_blob_8 b where b.due_at_ms <= $1')).toEqual(many)
    expect(faults('delete from cubby_blob_8 as b where b.id = any ($1::text[])')).toEqual(many)
    expect(
      faults('select b.id from cubby_blob_8 b where b.due_at_ms <= $1 for update skip locked', 'blobs_find_due'),
    ).toEqual(['locks rows of more than one table'])
    expect(
      faults(`select b.id, (select count(*) from cubby_record_8 r where r.i3_hash = b.id) from cubby_blob_8 b
        where b.table_id = $1`),
    ).toEqual(many)
  })

  test('the same of runs', () => {
    const many = ['is about records of more than one table']
    expect(faults('select r.id from cubby_run_8 as r where r.run_at <= $1')).toEqual(many)
    expect(faults('select max(seq) from cubby_run_8 where task_id > 3')).toEqual(many)
    expect(faults('select r.id from cubby_run_8 as r where r.task_id = $1::bigint for update skip locked')).toEqual([])
    expect(faults('select r.id from cubby_run_8 as r where r.lease_until <= $1', 'runs_find_expired')).toEqual([])
    expect(
      faults('select 1 from cubby_run_8 r join cubby_task_8 k on k.table_id = r.task_id where r.task_id = $1'),
    ).toEqual(['names records and a table of the registry'])
    expect(faults('insert into cubby_run_8 (id) select k.id from keys k')).toEqual(['inserts records with a subquery'])
  })

  test('an INSERT with a subquery', () => {
    expect(
      faults('insert into cubby_record_8 (id, table_id) select * from unnest($1::bigint[], $2::bigint[])'),
    ).toEqual(['inserts records with a subquery'])
    expect(faults('insert into cubby_record_8 (id) values ((select 1))')).toEqual(['inserts records with a subquery'])
    expect(faults('insert into cubby_blob_8 (id) select g.id from gone g')).toEqual(['inserts records with a subquery'])
  })

  test('the same of logs', () => {
    const many = ['is about records of more than one table']
    expect(faults('select f.seq from cubby_feed f where f.table_id = any ($1::bigint[])')).toEqual(many)
    expect(faults('select c.seq from cubby_change c where c.seq > $1')).toEqual(many)
    expect(faults('insert into cubby_change (seq) select v.seq from v')).toEqual(['inserts records with a subquery'])
    expect(
      faults('select f.seq from cubby_feed f join cubby_table_8 t on t.id = f.table_id where f.table_id = $1'),
    ).toEqual(['names records and a table of the registry'])
    expect(faults('select f.seq from cubby_feed f where f.table_id = $1::bigint for update')).toEqual([])
  })

  test('DDL that Citus rejects on a distributed table', () => {
    const rejected = ['renames a constraint of a distributed table']
    expect(faults('alter table cubby_record_8 rename constraint a to b')).toEqual(rejected)
    expect(faults('alter table if exists cubby_records rename constraint a to b')).toEqual(rejected)
  })

  test('nothing in what is about one table, or only speaks of records', () => {
    for (const text of [
      'alter table if exists cubby_records rename to cubby_record',
      'alter index if exists cubby_records_pkey rename to cubby_record_pkey',
      'alter table cubby_api_key_8 rename constraint a to b',
      'select r.id from cubby_record_8 as r where r.table_id = $1::bigint and r.hash_key = $2',
      'select max(id) from cubby_record_8 where table_id = 17',
      'insert into cubby_record_8 as r (id, table_id) values ($1, $2) on conflict do nothing',
      `select 'cubby_record_8'::regclass, s.id from cubby_store s`,
      'select last_value from cubby_record_id',
      'lock table cubby_record_8, cubby_table_8 in access exclusive mode',
      'update cubby_blob_8 as b set state = $3 where b.table_id = $1::bigint and b.id = $2',
    ]) {
      expect(faults(text)).toEqual([])
    }
  })
})

// ── The suite ──────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The statements that Citus does not run, by their names in the source: they look at the registry, take arrays, or concern
 * many tables.
 */
const notOnCitus = [
  ...[
    'sweep',
    'put_batch',
    'put_many',
    'put_together',
    'load_records',
    'check_stray',
    'check_stray_idempotency_keys',
    'check_is_table',
  ],
  ...['blobs_take', 'load_blobs', 'check_stray_blobs', 'file_free_old', 'file_put_'],
  ...['change_add', 'check_stray_logs'],
  ...[
    'runs_due_pushes',
    'tasks_push_stops',
    'runs_find_from_ahead',
    'runs_leased_organizations',
    'runs_sweep',
    'check_stray_runs',
  ],
  // The size of tables whose rows are elsewhere.
  'relation_bytes',
  // Names no table at all, and needs a write that hangs while a key is revoked.
  'cancel',
]

let server: SharedPostgres
let url = ''
const recorder = recordStatements()

beforeAll(async () => {
  server = await sharedPostgres()
  url = await createCitus(server)
}, 120_000)

afterAll(async () => {
  recorder.stop()
  await server.remove()
}, 120_000)

const openAt = (at: string): Promise<Engine> =>
  openPostgresEngine({ url: at, leaseMs: 20, sweepClock: 'caller', statementMsMax: 20_000 })
const open = () => openAt(url)

describeEngine('as on Citus: postgres', { open, reopen: open, openBeside: open, remove: () => server.empty(url) })

describe('as on Citus', () => {
  test('the engine says so, and its sessions make plans with the values', async () => {
    const engine = await open()
    expect(engine.description).toStartWith('citus 13.2-1 on postgres ')
    expect(await engine.ready()).toBe(true)
    await engine.close()
    const texts = [...recorder.sent.values()].map(({ text }) => text)
    expect(texts.some((text) => text.includes('set plan_cache_mode = force_custom_plan'))).toBe(true)
    expect(texts.some((text) => text.includes('force_generic_plan'))).toBe(false)
    expect(texts.some((text) => text.includes('create_reference_table'))).toBe(false)
  })

  test('a step of a sweep removes 1,000 expired records, but of files 50', async () => {
    const engine = await open()
    try {
      expect(engine.maintenance.sweepStepRows).toBe(1_000)
      const fixture = await makeFixture(engine)
      const ttlSeconds = startSeconds - 10
      await fillAtOnce(
        fixture,
        numbered(150).map((name) => putOf(fixture.table, name, { ttlSeconds })),
      )
      const { putFile } = await makeBucket(engine, fixture.tenant)
      for (let i = 0; i < 60; i++) await putFile(`f${i}`, { ttlSeconds })
      const step = () => engine.maintenance.sweepExpired(startMs + sweepGraceMs, 1_000)
      expect([await step(), await step(), await step()]).toEqual([150 + 50, 10, 0])
      await expectSound(engine)
    } finally {
      await engine.close()
      await server.empty(url)
    }
  })

  test('a sweep removes what has expired of many tables, in steps of so many rows, and nothing else', async () => {
    const engine = await open()
    try {
      const first = await makeFixture(engine, {}, { name: 'first' })
      const second = await makeFixture(engine, {}, { tenant: first.tenant, name: 'second' })
      for (let i = 0; i < 30; i++) await first.put(`k${i}`, { ttlSeconds: startSeconds - 10 })
      for (let i = 0; i < 5; i++) await second.put(`k${i}`, { ttlSeconds: startSeconds - 20 })
      await first.put('live')
      await second.put('later', { ttlSeconds: startSeconds + 1 })
      const steps: number[] = []
      for (;;) {
        const removed = await engine.maintenance.sweepExpired(startMs + sweepGraceMs, 8)
        if (removed === 0) break
        steps.push(removed)
      }
      expect(steps).toEqual([8, 8, 8, 8, 3])
      expect(await server.query('select count(*)::int as left from cubby_record_8', url)).toEqual([{ left: 2 }])
      await expectSound(engine)
    } finally {
      await engine.close()
      await server.empty(url)
    }
  })

  test('finished runs of many tasks are swept, in steps of so many rows, and a deleted task is purged', async () => {
    const engine = await open()
    try {
      const first = await makeBench(engine, { keepSeconds: 60 })
      const second = await makeBench(engine, { keepSeconds: 120 }, { tenant: first.tenant, name: 'second' })
      for (const bench of [first, second]) {
        for (let i = 0; i < 5; i++) await bench.add()
        for (const run of await bench.claim(4)) await bench.finish(run)
      }
      const nowMs = Date.now()
      const sweep = (afterMs: number) => engine.runs.sweepFinished(nowMs + afterMs + sweepGraceMs, 3)
      expect([await sweep(-1_000), await sweep(61_000), await sweep(61_000), await sweep(61_000)]).toEqual([0, 3, 1, 0])
      expect([await sweep(121_000), await sweep(121_000), await sweep(121_000)]).toEqual([3, 1, 0])
      await engine.tasks.delete(first.tenant.caller, 'app', 'second', undefined, nowMs)
      const later = nowMs + 60_000 + recoveryMs + sweepGraceMs
      expect(await engine.maintenance.purgeTables(later, 10)).toBe(2)
      expect(await engine.maintenance.purgeTables(later, 10)).toBe(0)
      expect(await server.query('select task_id::int from cubby_run_8', url)).toEqual([{ task_id: first.task.id }])
      await expectSound(engine)
    } finally {
      await engine.close()
      await server.empty(url)
    }
  })

  test('of two processes that sweep at once, each row is removed once', async () => {
    const [one, other] = [await open(), await open()]
    try {
      const fixture = await makeFixture(one)
      for (let i = 0; i < 100; i++) await fixture.put(`k${i}`, { ttlSeconds: startSeconds - 10 })
      const drain = async (engine: Engine): Promise<number> => {
        let sum = 0
        for (;;) {
          const removed = await engine.maintenance.sweepExpired(startMs + sweepGraceMs, 7)
          if (removed === 0) return sum
          sum += removed
        }
      }
      const [a, b] = await Promise.all([drain(one), drain(other)])
      expect(a + b + (await drain(one))).toBe(100)
    } finally {
      await one.close()
      await other.close()
      await server.empty(url)
    }
  })

  test('a sweep goes by the clock of the database, unless the caller’s is behind', async () => {
    const engine = await openPostgresEngine({ url, leaseMs: 20 })
    try {
      const { put } = await makeFixture(engine)
      await put('gone', { ttlSeconds: startSeconds })
      await put('live', { ttlSeconds: Math.ceil(Date.now() / 1000) + 3_600 })
      expect(await engine.maintenance.sweepExpired(startMs, 10)).toBe(0)
      expect(await engine.maintenance.sweepExpired(Date.now() + 365 * 86_400_000, 10)).toBe(1)
    } finally {
      await engine.close()
      await server.empty(url)
    }
  })

  test('tasks and tables are asked one by one while statements over all shards fail', async () => {
    const proxy = await startPostgresProxy(server.port)
    const engine = await openAt(proxy.urlOf(url))
    try {
      const fixture = await makeFixture(engine)
      await fixture.put('k', { ttlSeconds: startSeconds - 10 })
      const bench = await makeBench(engine, { url: 'https://example.com/' }, { tenant: fixture.tenant })
      await bench.add()
      proxy.fault = {
        matches: ({ name }) => spanning.includes(name),
        ...{ sqlState: '08006', message: 'Connection refused', applied: false },
      }
      expect(await engine.maintenance.sweepExpired(startMs + sweepGraceMs, 8)).toBe(1)
      expect((await engine.runs.duePushes(Date.now() + 1_000)).tasks).toHaveLength(1)
      expect(await engine.runs.expireLeases(Date.now(), 8)).toEqual([])
    } finally {
      await engine.close()
      await proxy.close()
      await server.empty(url)
    }
  })

  test('conditions hold inside a batch, of each kind', async () => {
    const engine = await open()
    try {
      const { table, put, write, get } = await makeFixture(engine)
      await put('there')
      const applied = await write([
        putOf(table, 'there', { data: { n: 1 }, condition: 'exists' }),
        deleteOf('nowhere', undefined, 'absent'),
      ])
      expect(applied.applied).toBe(true)
      expect((await get('there'))?.data).toBe('{"n":1}')
      const missing = [putOf(table, 'nowhere', { condition: 'exists' }), putOf(table, 'there', { data: { n: 2 } })]
      expect(await write(missing)).toMatchObject({ applied: false, failedOperation: 0 })
      expect(await write([deleteOf('there', undefined, 'absent'), putOf(table, 'new')])).toMatchObject({
        applied: false,
        failedOperation: 0,
      })
      expect((await get('there'))?.data).toBe('{"n":1}')
      expect(await get('new')).toBeUndefined()
    } finally {
      await engine.close()
      await server.empty(url)
    }
  })

  test('the puts of a batch are one statement; with others in between, one for each row of puts', async () => {
    const proxy = await startPostgresProxy(server.port)
    const engine = await openAt(proxy.urlOf(url))
    try {
      const { table, write, put, get, names } = await makeFixture(engine, { i1: { hashField: 'city' } })
      const expired = await put('k03', { ttlSeconds: startSeconds - 10 }, startMs + 5_000)
      const live = await put('k04', {}, startMs + 5_000)
      const putsOf = (count: number) =>
        numbered(count, 'k').map((_, i) =>
          putOf(table, `k${String(count - 1 - i).padStart(2, '0')}`, { data: { city: 'Oslo', i } }),
        )
      proxy.sent = []
      const versions = versionsOf(await write(putsOf(batchOperationsMax)))
      const inserts = () => proxy.sent.filter((name) => name.startsWith('batch_put'))
      expect(inserts()).toHaveLength(1)
      // A record that has expired is created, one that is there gets a higher version.
      expect(versions.toSorted((a, b) => a - b)).toEqual([...new Array(batchOperationsMax - 1).fill(startMs), live + 1])
      expect(expired).toBeGreaterThan(startMs)
      expect(versions[batchOperationsMax - 1 - 4]).toBe(live + 1)
      expect((await get('k24'))?.data).toBe('{"city":"Oslo","i":0}')
      // Equal in the index: in the order in which they were created, which is that of the batch.
      const created = putsOf(batchOperationsMax).map(({ hashKey }) => hashKey)
      const inOrder = [created[20]!, ...created.filter((_, i) => i !== 20)]
      expect(await names(indexScan('i1', 'Oslo'))).toEqual(inOrder)
      proxy.sent = []
      const mixed = [
        ...[putOf(table, 'a'), deleteOf('k05'), putOf(table, 'b'), putOf(table, 'x', { condition: 'absent' })],
        ...[putOf(table, 'z'), putOf(table, 'y'), deleteOf('nowhere')],
      ]
      const result = await write(mixed, startMs + 1)
      expect(inserts()).toEqual(['batch_put_rows_2', 'batch_put_absent', 'batch_put_rows_2'])
      const [put1, delete1] = [{ updatedAtMs: startMs + 1 }, { deleted: true }]
      const results = [put1, delete1, put1, put1, put1, put1, { deleted: false }]
      expect(result).toEqual({ applied: true, results })
      await expectSound(engine)
    } finally {
      await engine.close()
      await proxy.close()
      await server.empty(url)
    }
  })

  test('a store is copied whole from one to another', async () => {
    const from = await open()
    const target = await createCitus(server)
    const to = await openAt(target)
    try {
      const { table, put, tenant } = await makeFixture(from, { i1: { hashField: 'city' } })
      for (let i = 0; i < 700; i++) await put(`k${i}`, { data: { city: `c${i % 7}` } })
      const { bucket, putFile, commit } = await makeBucket(from, tenant)
      for (let i = 0; i < 3; i++) await putFile(`f${i}`)
      const small = newStoreBlobId(startMs)
      expect((await commit('small', small, { bytes: Buffer.from('abc') })).applied).toBe(true)
      const bench = await makeBench(from, {}, { tenant })
      for (let i = 0; i < 3; i++) await bench.add({ key: `k${i}` })
      await bench.claim(1, 60_000)
      const read = async (engine: Engine, { id } = table): Promise<DumpedRecord[]> => {
        const dump = await engine.transfer.openDump()
        const records: DumpedRecord[] = []
        for await (const chunk of dump.records(id, 0)) records.push(...chunk)
        expect(await dump.countRecords(id)).toBe(records.length)
        await dump.close()
        return records
      }
      const dump = await from.transfer.openDump()
      const apiKeys = await Array.fromAsync(dump.apiKeys())
      const tables = await Array.fromAsync(dump.tables())
      const secrets = await dump.secrets()
      await to.transfer.load({ secrets, organizations: await dump.organizations(), apiKeys, tables })
      const blobs: LoadedBlob[] = await Array.fromAsync(dump.blobs())
      expect(blobs.at(-1)!.id).toBe(small)
      blobs.at(-1)!.bytes = Buffer.from((await dump.blobBytes(blobs.at(-1)!))!).toString('base64')
      const tasks = await Array.fromAsync(dump.tasks())
      const runs = (await Array.fromAsync(dump.runs(0))).flat()
      expect([tasks.length, runs.length, await dump.countRuns()]).toEqual([1, 3, 3])
      await to.transfer.load({ tasks, runs })
      expect(await to.transfer.lastRunSeq()).toBe(await from.transfer.lastRunSeq())
      expect(await to.runs.get(bench.task, runs[0]!.id, Date.now())).toEqual(runs[0])
      expect(await dump.fileMark()).toBeUndefined()
      await dump.close()
      const records = await read(from)
      const files = await read(from, bucket)
      expect([files.length, blobs.length]).toEqual([4, 4])
      await to.transfer.load({ records: files, blobs })
      expect(await read(to, bucket)).toEqual(files)
      expect(Buffer.from((await to.files.readBytes(bucket, small))!).toString()).toBe('abc')
      expect((await to.buckets.findById(bucket.publicId!))!.id).toBe(bucket.id)
      const [ours, theirs] = [await to.secrets.at(0), await from.secrets.at(0)]
      expect(ours.urlKeys).toEqual(theirs.urlKeys)
      for (let at = 0; at < records.length; at += 100) await to.transfer.load({ records: records.slice(at, at + 100) })
      expect(await to.transfer.lastRecordId(table.id)).toBe(await from.transfer.lastRecordId(table.id))
      expect(await read(to)).toEqual(records)
      expect(ours.seal.seal(Buffer.from('x'))).toEqual(theirs.seal.seal(Buffer.from('x')))
      await expectSound(to)
    } finally {
      await from.close()
      await to.close()
      await server.empty(url)
    }
  })

  test('a store of version 1 is migrated, and answers', async () => {
    const store = await createCitus(server)
    await server.query(readFileSync(join(folderOf('v1'), 'cubby.sql'), 'utf8'), store)
    const before = await server.query('select count(*)::int as count from cubby_records', store)
    const engine = await openAt(store)
    try {
      expect(engine.description).toStartWith('citus 13.2-1 on postgres ')
      expect(await server.query('select count(*)::int as count from cubby_record_8', store)).toEqual(before)
      const organizations = await engine.organizations.list()
      expect(organizations.map(({ name }) => name)).toEqual(['acme', 'globex'])
      const people = (await engine.tables.find(organizations[0]!.id, 'app', 'people'))!
      expect((await engine.records.get(people, { hashKey: 'ada', rangeKey: '#' }, startMs))?.data).toContain('Oslo')
      await expectSound(engine)
    } finally {
      await engine.close()
    }
    const texts = [...recorder.sent.values()].map(({ text }) => text)
    // This must be the first statement: Citus distributes no table in a transaction that has used several connections to a
    // worker.
    const begins = texts.indexOf('begin isolation level read committed read write')
    expect(texts[begins + 1]).toBe(`set local citus.multi_shard_modify_mode = 'sequential'`)
    expect(texts).toContain('alter table cubby_records rename to cubby_record')
    expect(texts).toContain(
      'alter table cubby_api_key rename constraint cubby_api_keys_kind_check to cubby_api_key_kind_check',
    )
  })

  test('verify finds an index value that is not that of the data', async () => {
    const engine = await open()
    try {
      const { put } = await makeFixture(engine, { i1: { hashField: 'city' } })
      for (let i = 0; i < 250; i++) await put(`k${i}`, { data: { city: 'Oslo' } })
      await server.query(`update cubby_record_8 set i1_hash = 'x' where hash_key = 'k200'`, url)
      const findings = await Array.fromAsync(engine.maintenance.check())
      expect(findings).toHaveLength(1)
      expect(findings[0]).toContain('"k200"')
      expect(findings[0]).toContain('i1 does not hold what its data says')
    } finally {
      await engine.close()
      await server.empty(url)
    }
  })
})

// ── All that was sent ──────────────────────────────────────────────────────────────────────────────────────

describe('of all that was sent to Citus', () => {
  test('nothing breaks the rules', () => {
    const broken = [...recorder.sent.values()].flatMap((sent) =>
      faultsOf(sent).map((fault) => `${sent.name ?? ''} ${fault}: ${sent.text}`),
    )
    expect(broken).toEqual([])
  })

  test('no statement that the source has is missing, those aside that are not for Citus', () => {
    const folder = join(import.meta.dir, '../src/engines/postgres')
    // The fixed part of each name: behind it stands a condition, an index or a direction.
    const inSource = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .flatMap((source) => [...source.matchAll(/\bname: ['`]([a-z_]+)|\bstatement\(\s*'([a-z_]+)'/g)])
      .map(([, name, other]) => name ?? other!)
    const varied = [
      ...['none', 'exists', 'version', 'absent'].flatMap((kind) => [`put_${kind}`, `batch_put_${kind}`]),
      ...['none', 'exists', 'version'].map((kind) => `delete_${kind}`),
      ...['none', 'exists', 'version', 'absent'].map((kind) => `batch_delete_${kind}`),
      ...['remove_expired_files', 'remove_expired_logged', 'remove_rows_files', 'check_records_of_bucket'],
      ...['scan_walk', 'scan_keys_walk'],
      ...['scan', 'scan_keys', 'count'].flatMap((kind) =>
        ['primary', 't', ...slots].flatMap((index) => [`${kind}_${index}`, `${kind}_${index}_down`]),
      ),
    ]
    expect(inSource.length).toBeGreaterThan(50)
    const sent = [...recorder.sent.values()].flatMap(({ name }) => name ?? [])
    const isSent = (name: string) => sent.some((one) => (name.endsWith('_') ? one.startsWith(name) : one === name))
    expect([...inSource, ...varied].filter((name) => !isSent(name)).sort()).toEqual(notOnCitus.toSorted())
    // Texts without a name: the set-up, the dump's cursor, the last id.
    const unnamed = [...recorder.sent.values()].filter(({ name }) => name === undefined).map(({ text }) => text)
    for (const text of [
      'create table if not exists cubby_record_8',
      'cursor for',
      'select max(id) from cubby_record_8',
    ]) {
      expect(unnamed.some((one) => one.includes(text))).toBe(true)
    }
  })
})
