import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import pg from 'pg'
import type { Scan } from '../src/core/records/scan.ts'
import { slots } from '../src/core/tables/indices.ts'
import * as logs from '../src/engines/postgres/changes/statements.ts'
import type { Statement } from '../src/engines/postgres/connection/driver.ts'
import { detectDialect, openingOf } from '../src/engines/postgres/dialect.ts'
import { openPostgresEngine } from '../src/engines/postgres/engine.ts'
import * as files from '../src/engines/postgres/files/statements.ts'
import { followersOf, nextBlobs, nextRecords, nextTables } from '../src/engines/postgres/maintenance/check.ts'
import { sweepInOne } from '../src/engines/postgres/maintenance/maintenance.ts'
import * as purges from '../src/engines/postgres/maintenance/purge-organizations.ts'
import { countRecords, findRecords, getRecord, scanRecords } from '../src/engines/postgres/records/read-statements.ts'
import {
  currentVersion,
  deleteAlone,
  guardBatch,
  indexColumns,
  lockRow,
  putAlone,
  removeRow,
  replaceRow,
} from '../src/engines/postgres/records/statements.ts'
import { findTable, findTableByPublicId } from '../src/engines/postgres/registry/registry-cache.ts'
import * as following from '../src/engines/postgres/tasks/followers.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

setDefaultTimeout(120_000)

// A page is one walk of one index, from the bound on, as long as the page is. Otherwise page 10,000 costs more than
// page 1, and a large table is slow for everybody.

type Value = string | number | Buffer | Buffer[] | string[] | null

const rowsInTable = 20_000
const pageRows = 50

// ── What is asked ──────────────────────────────────────────────────────────────────────────────────────────

const bytes = (text: string): Buffer => Buffer.from(text)
const budget = [pageRows + 251, 10_000, pageRows, 1_048_576, 1]

/** The values of a scan that starts in the middle of what it covers. */
const scanValues = (index: Scan['index'], descending: boolean): Value[] => {
  const opening = [1, 1_000, ...budget]
  const middle = index === 't' ? rowsInTable / 2 : bytes(index === 'primary' ? '00010000' : 'n0000000000000500')
  const [low, high] = index === 't' ? [-1, 1e9] : [bytes(''), Buffer.from([0xff])]
  const bounds = descending ? [low, middle] : [middle, high]
  if (index === 't') return [...opening, ...bounds, 0]
  return index === 'primary' ? [...opening, ...bounds, bytes('ssame')] : [...opening, ...bounds, 0, bytes('ssame')]
}

const scans = (['primary', 't', ...slots] as const).flatMap((index) =>
  [false, true].flatMap((descending) => {
    const values = scanValues(index, descending)
    return [
      { what: 'a page', index, descending, statement: scanRecords(index, descending), values },
      { what: 'a page of keys', index, descending, statement: scanRecords(index, descending, 'keys'), values },
      // No bytes to count.
      {
        what: 'a count',
        index,
        descending,
        statement: countRecords(index, descending),
        values: values.toSpliced(5, 2),
      },
    ]
  }),
)

const key = [1, bytes('ssame'), bytes('00000001')]
const put: Value[] = [...key, '{}', null, 1, ...indexColumns.map(() => null), 1]

const reads: [Statement, Value[]][] = [
  [getRecord, [...key, 1]],
  [currentVersion, [...key, 1]],
]

const found = 100
const foundKeys = Array.from({ length: found }, (_, i) => bytes(String(4 * i + 1).padStart(8, '0')))
const find: [Statement, Value[]] = [findRecords, [foundKeys.map(() => bytes('ssame')), foundKeys, 1, 1, 1_048_576]]

const writes: [Statement, Value[]][] = [
  [putAlone('none', true), [...put, 7]],
  [putAlone('absent', true), [...put, 7]],
  [putAlone('exists', true), [...put, 7]],
  [putAlone('version', true), [...put, 7, 1]],
  [deleteAlone('none', true), [...key, 1, 7]],
  [deleteAlone('version', true), [...key, 1, 1, 7]],
  [guardBatch, [1, 7]],
]

const blobId = (n: number): string => `b${String(n).padStart(7, '0')}`
const dueRows = 20

/**
 * The statements of files. Each has the indexes that it may look into, and what it looks for. Few rows are read in any
 * store.
 */
const onFiles: { statement: Statement; values: Value[]; looks: Record<string, RegExp> }[] = [
  { statement: files.lockFile, values: key, looks: { cubby_record_8_pkey: /range_key =/ } },
  { statement: files.deleteFile, values: key, looks: { cubby_record_8_pkey: /range_key =/ } },
  { statement: files.freeOldBlob, values: [...key, 5], looks: { cubby_record_8_pkey: /range_key =/ } },
  ...(['none', 'absent'] as const).map((kind) => ({
    statement: files.putFile(kind),
    values: [1, bytes('#'), bytes('new'), ...put.slice(3)],
    looks: { cubby_blob_8_pkey: /\(id =/, cubby_blob_by_id: /id =/ },
  })),
  // They find their row as a unique index does: not by a plan.
  { statement: files.insertFile, values: [1, bytes('#'), bytes('new'), ...put.slice(3, -1)], looks: {} },
  { statement: files.insertBlob, values: [1, 'new', 5], looks: {} },
  { statement: files.makeDead, values: [1, blobId(7), 5], looks: {} },
  { statement: files.makeLive, values: [1, blobId(10_000)], looks: { cubby_blob_8_pkey: /table_id = .*\(id =/ } },
  { statement: files.isPending, values: [1, blobId(7)], looks: { cubby_blob_8_pkey: /table_id = .*\(id =/ } },
  { statement: files.giveUp, values: [1, blobId(7), 5], looks: { cubby_blob_8_pkey: /table_id = .*\(id =/ } },
  { statement: files.postpone, values: [[blobId(7), blobId(8)], 5], looks: { cubby_blob_by_id: /id = ANY/ } },
  { statement: files.abandonBlob, values: [blobId(7), 5], looks: { cubby_blob_by_id: /id =/ } },
  { statement: files.forgetBlobs, values: [[blobId(7), blobId(8)]], looks: { cubby_blob_by_id: /id = ANY/ } },
  {
    statement: files.takeDueInOne,
    values: [1_000_000, dueRows, 5],
    // Either of the two finds a blob by its id.
    looks: {
      ...{ cubby_blob_by_due: /due_at_ms <=/, cubby_blob_8_pkey: /table_id = .*\(id =/, cubby_blob_by_id: /id =/ },
    },
  },
  { statement: files.findDue, values: [1_000_000, dueRows], looks: { cubby_blob_by_due: /due_at_ms <=/ } },
  {
    statement: files.takeDueOfTable,
    values: [1, [blobId(7), blobId(8)], 1_000, 5],
    looks: { cubby_blob_8_pkey: /table_id = .*\(id = ANY/ },
  },
  {
    statement: sweepInOne,
    values: [5_000_000_000, dueRows, 5],
    looks: {
      ...{ cubby_record_by_ttl: /ttl_seconds <=/, cubby_record_8_pkey: /table_id = .*range_key =/ },
      cubby_table_8_pkey: /id =/,
    },
  },
  {
    statement: nextBlobs,
    values: [1, blobId(7), dueRows],
    looks: { cubby_blob_8_pkey: /table_id = .*\(id >/, cubby_record_by_i3: /table_id = .*i3_hash =/ },
  },
  {
    statement: nextRecords.bucket,
    values: [1, bytes('ssame'), bytes('00000001'), dueRows],
    looks: {
      cubby_record_8_pkey: /ROW\(hash_key, range_key\) >/,
      cubby_blob_8_pkey: /\(id =/,
      cubby_blob_by_id: /id =/,
    },
  },
  {
    statement: findTable,
    values: [1, 'app', 'table', 'table-7'],
    looks: { cubby_table_by_name: /name =/, cubby_organization_8_pkey: /id =/ },
  },
  {
    statement: findTableByPublicId,
    values: ['bkt_7'],
    looks: { cubby_table_by_public_id: /public_id =/, cubby_organization_8_pkey: /id =/ },
  },
  // The purge of an organization, beside those that are not deleted.
  {
    statement: purges.takeOrganization,
    values: [5, '{7}'],
    looks: { cubby_organization_to_purge: /deleted_at_ms <=/ },
  },
  { statement: purges.takeTables[0]!, values: [1], looks: { cubby_table_by_name: /org_id =/ } },
  { statement: purges.takeTables[1]!, values: [1], looks: { cubby_table_deleted_by_name: /org_id =/ } },
  { statement: purges.anyTables[0]!, values: [1], looks: { cubby_table_by_name: /org_id =/ } },
  { statement: purges.anyTables[1]!, values: [1], looks: { cubby_table_deleted_by_name: /org_id =/ } },
  {
    statement: purges.removeKeys,
    values: [1, dueRows],
    looks: { cubby_api_key_by_org: /org_id =/, cubby_api_key_8_pkey: /seq =/ },
  },
]

const oneEntry = /table_id = .*\(seq =/
const pageLooks = { cubby_change_pkey: /table_id = /, cubby_record_8_pkey: /table_id = .*hash_key = .*range_key =/ }

/** The statements of logs, in a log of 20,000 entries. */
const onLogs: typeof onFiles = [
  ...[false, true].flatMap((withData) =>
    [false, true].map((withHash) => ({
      statement: logs.readChanges(withData, withHash),
      values: [1, rowsInTable / 2, rowsInTable / 2, dueRows - 2, 1_048_576, ...(withHash ? [bytes('ssame')] : [])],
      looks: pageLooks,
    })),
  ),
  { statement: logs.newestEntry, values: [1], looks: { cubby_change_pkey: /table_id =/ } },
  { statement: logs.endsOfLog, values: [1], looks: { cubby_change_pkey: /table_id =/ } },
  { statement: logs.timeOfEntry, values: [1, 77], looks: { cubby_change_pkey: oneEntry } },
  {
    statement: logs.firstEntryBetween,
    values: [1, 5, 15, 1, 2],
    looks: { cubby_change_pkey: /table_id = .*seq >=.*seq </ },
  },
  { statement: logs.lockFeed, values: [1], looks: { cubby_feed_pkey: /table_id =/ } },
  { statement: logs.moveFeed, values: [1, 5], looks: { cubby_feed_pkey: /table_id =/ } },
  { statement: logs.newestNumber, values: [1], looks: { cubby_feed_pkey: /table_id =/ } },
  { statement: logs.newestNumbers, values: ['{1,2}'], looks: { cubby_feed_pkey: /table_id =/ } },
  { statement: logs.removeEntries, values: [1, 15], looks: { cubby_change_pkey: /table_id = .*seq </ } },
  { statement: logs.removeOldest, values: [1, 15], looks: { cubby_change_pkey: /table_id =/ } },
  { statement: lockRow, values: [...key, 't'], looks: { cubby_record_8_pkey: /range_key =/ } },
  { statement: replaceRow, values: [...put.slice(0, -1), 5], looks: { cubby_record_8_pkey: /range_key =/ } },
  { statement: removeRow, values: key, looks: { cubby_record_8_pkey: /range_key =/ } },
]

/** The statements of following, in an organization of 5,000 tasks, four of them with each table. */
const onFollowers: typeof onFiles = [
  { statement: logs.readCounted, values: [1], looks: { cubby_table_8_pkey: /id =/ } },
  { statement: logs.addFeed, values: [77], looks: {} },
  {
    statement: following.readFollowers,
    values: [1, 'app', 'table-7'],
    looks: { cubby_task_following: /org_id = .*follows =/, cubby_table_8_pkey: /id =/ },
  },
  {
    statement: following.followedTable,
    values: [1, 'app', 'table', 'table-7'],
    looks: { cubby_table_by_name: /name =/ },
  },
  { statement: following.setFollowers, values: [1, '[]'], looks: { cubby_table_8_pkey: /id =/ } },
  {
    statement: followersOf,
    values: [1],
    looks: { cubby_table_8_pkey: /id =/, cubby_task_following: /org_id = .*follows =/ },
  },
  {
    statement: nextTables,
    values: [1, dueRows],
    looks: { cubby_table_8_pkey: /id >/, cubby_task_following: /org_id = .*follows =/ },
  },
]
const inOrder = [...onFiles, ...onLogs, ...onFollowers]

// ── Plans ──────────────────────────────────────────────────────────────────────────────────────────────────

interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Index Cond'?: string
  Filter?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  Plans?: PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
const isScan = (node: PlanNode): boolean => / Scan$/.test(node['Node Type']) && node['Node Type'] !== 'Subquery Scan'

const literal = (value: Value): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) {
    return `array[${value.map((one) => `${literal(one)}::${Buffer.isBuffer(one) ? 'bytea' : 'text'}`).join(', ')}]`
  }
  return Buffer.isBuffer(value) ? `'\\x${value.toString('hex')}'` : `'${value}'`
}

const execute = (statement: Statement, values: Value[]): string =>
  `execute ${statement.name} (${values.map(literal).join(', ')})`

const prepareAll = async (client: pg.Client): Promise<void> => {
  const walks = (['data', 'keys'] as const).map((select) => scanRecords('walk', false, select))
  const named = [...walks, ...[...scans, ...inOrder].map(({ statement }) => statement)]
  for (const { name, text } of [...named, ...[...reads, find, ...writes].map(([statement]) => statement)]) {
    await client.query(`prepare ${name} as ${text}`)
  }
}

/** Runs it, in a transaction that is rolled back, and gives every node of the plan that it ran by. */
const planOf = async (client: pg.Client, statement: Statement, values: Value[]): Promise<PlanNode[]> => {
  await client.query('begin')
  try {
    const sql = `explain (analyze, timing off, summary off, format json) ${execute(statement, values)}`
    const { rows } = await client.query(sql)
    return nodesOf((rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan)
  } finally {
    await client.query('rollback')
  }
}

const indexOf = (index: Scan['index']): string =>
  index === 'primary' ? 'cubby_record_8_pkey' : `cubby_record_by_${index === 't' ? 'time' : index}`

// ── The store ──────────────────────────────────────────────────────────────────────────────────────────────

/** Two tables; in each one hash key, and one hash of each slot, that hold most rows, and many that hold few. */
const fill = (client: pg.Client): Promise<unknown> => {
  const hash = `convert_to('s' || case when n % 4 = 0 then n::text else 'same' end, 'UTF8')`
  const range = `convert_to('n' || lpad((n % 1000)::text, 16, '0'), 'UTF8')`
  return client.query(`
    insert into cubby_record_8 (id, table_id, hash_key, range_key, updated_at, ttl_seconds, data, ${indexColumns.join(', ')})
    select t * 1000000 + n, t, ${hash}, convert_to(lpad(n::text, 8, '0'), 'UTF8'), n, case when n % 10 = 0 then 4e9 end,
      '{"n":' || n || '}', ${slots.map(() => `${hash}, ${range}`).join(', ')}
    from generate_series(1, 2) t, generate_series(1, ${rowsInTable}) n;
    insert into cubby_feed select t, ${rowsInTable} from generate_series(1, 2) t;
    insert into cubby_change (table_id, seq, at_ms, kind, hash_key, range_key, version)
    select t, n, n, 1, ${hash}, convert_to(lpad(n::text, 8, '0'), 'UTF8'), n
    from generate_series(1, 2) t, generate_series(1, ${rowsInTable}) n;
    insert into cubby_blob_8 (table_id, id, state, due_at_ms)
    select t, 'b' || lpad(n::text, 7, '0'), case when n % 10 = 0 then 'pending' else 'live' end,
      case when n % 10 = 0 then n end
    from generate_series(1, 2) t, generate_series(1, ${rowsInTable}) n;
    insert into cubby_table_8 (org_id, db, kind, name, indices, public_id, created_at)
    select 1, 'app', kind, 'table-' || n, '{}', case when kind = 'bucket' then 'bkt_' || n end, 1
    from generate_series(1, 5000) n, unnest(array['table', 'bucket']) kind;
    insert into cubby_table_8 (org_id, db, kind, name, indices, created_at)
    select 1, 'app', 'task', 'task-' || n, '{}', 1 from generate_series(1, 5000) n;
    insert into cubby_task_8 (table_id, declaration, updated_at, paused, pushes, keep_seconds, secrets, org_id, follows)
    select t.id, '{}', 1, false, false, 0, '[]', 1, 'table-' || (row_number() over () + 3) / 4
    from cubby_table_8 t where t.kind = 'task';
    insert into cubby_organization_8 (id, name, created_at) select n, 'org-' || n, 1 from generate_series(1, 5000) n;
    insert into cubby_api_key_8 (id, org_id, kind, hash, last_four, created_at)
    select 'key_' || n, 1, 'secret', 'hash-' || n, '0000', 1 from generate_series(1, 5000) n`)
}

const facts = { version: '', number: '18', numeric: 180_000, encoding: 'UTF8', fsync: 'on', citus: undefined }
const engineSettings = openingOf(detectDialect(facts, 60_000))

/** The settings of the planner, and what it knew when it planned. */
const circumstances: Record<string, (client: pg.Client) => Promise<void>> = {
  // First, while it is so: connections are made when the store is empty, and live as long as the process.
  'the engine’s settings and plans of when the store was empty': async (client) => {
    await client.query(engineSettings)
    await prepareAll(client)
    for (const { statement, values } of scans) await client.query(execute(statement, values))
    for (const [statement, values] of [...reads, find]) await client.query(execute(statement, values))
    for (const [statement, values] of writes) await client.query(execute(statement, values)).catch(() => {})
    for (const { statement, values } of inOrder) {
      await client.query('begin')
      await client.query(execute(statement, values)).catch(() => {})
      await client.query('rollback')
    }
    await fill(client)
  },
  'the engine’s settings and statistics': async (client) => {
    await client.query(`analyze; ${engineSettings}`)
    await prepareAll(client)
  },
  'a server as it comes and a generic plan': async (client) => {
    await client.query('set plan_cache_mode = force_generic_plan')
    await prepareAll(client)
  },
  'a server as it comes and a plan for the values': async (client) => {
    await client.query('set plan_cache_mode = force_custom_plan')
    await prepareAll(client)
  },
}

let server: PostgresServer
let url = ''

beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'off', autovacuum: 'off' }, auth: 'password' })
  url = await server.createDatabase()
  await (await openPostgresEngine({ url })).close()
}, 120_000)

afterAll(() => server.remove(), 60_000)

for (const [name, prepare] of Object.entries(circumstances)) {
  describe(`with ${name}`, () => {
    let client: pg.Client

    beforeAll(async () => {
      client = new pg.Client({ connectionString: url })
      await client.connect()
      await prepare(client)
    }, 120_000)

    afterAll(() => client.end())

    for (const { what, index, descending, statement, values } of scans) {
      test(`${what} by ${index}, ${descending ? 'descending' : 'ascending'}, is one walk of its index`, async () => {
        const nodes = await planOf(client, statement, values)
        const walks = nodes.filter(isScan)
        expect(walks).toHaveLength(1)
        const walk = walks[0]!
        expect(walk).toMatchObject({ 'Node Type': 'Index Scan', 'Index Name': indexOf(index) })
        expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort')
        // Hash and both bounds are bounds of the index, nothing is read and thrown away, and it stops with the
        // page: a row more tells whether there is a next, and the running sums read one ahead.
        expect(walk.Filter).toBeUndefined()
        expect(walk['Index Cond']).toContain('table_id =')
        if (index !== 't') expect(walk['Index Cond']).toContain(index === 'primary' ? 'hash_key =' : `${index}_hash =`)
        if (index !== 'primary') expect(walk['Index Cond']).toContain('ROW(')
        expect(walk['Actual Rows']! * walk['Actual Loops']!).toBeLessThanOrEqual(pageRows + 2)
      })
    }

    test.each(['data', 'keys'] as const)('a page of a walk (%s) is one walk of the primary key', async (select) => {
      const values = [1, 1_000, ...budget, bytes('00010000'), bytes('ssame')]
      const nodes = await planOf(client, scanRecords('walk', false, select), values)
      const [walk, ...more] = nodes.filter(isScan)
      expect([walk?.['Index Name'], walk?.Filter, more]).toEqual(['cubby_record_8_pkey', undefined, []])
      expect(walk!['Index Cond']).toMatch(/table_id = .*ROW\(hash_key, range_key\) >/)
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort')
      expect(walk!['Actual Rows']! * walk!['Actual Loops']!).toBeLessThanOrEqual(pageRows + 2)
    })

    test('get and version are one look into the primary key', async () => {
      for (const [statement, values] of reads) {
        const looks = (await planOf(client, statement, values)).filter(isScan)
        expect(looks).toHaveLength(1)
        expect(looks[0]).toMatchObject({ 'Index Name': 'cubby_record_8_pkey', 'Actual Rows': 1 })
        expect(looks[0]!['Index Cond']).toContain('range_key =')
      }
    })

    test('a find is one look into the primary key for each key', async () => {
      const looks = (await planOf(client, ...find))
        .filter(isScan)
        .filter((node) => !/^Function/.test(node['Node Type']))
      expect(looks).toHaveLength(1)
      expect(looks[0]).toMatchObject({ 'Index Name': 'cubby_record_8_pkey', 'Actual Rows': 1, 'Actual Loops': found })
      expect(looks[0]!['Index Cond']).toMatch(/table_id = .*hash_key = .*range_key = /)
    })

    // A hundred large records would be 40 MB on the way to this process.
    test('a find returns data up to the bytes wanted, then one row without', async () => {
      const [statement, [hashKeys, rangeKeys, table, now]] = find
      const sql = execute(statement, [hashKeys!, rangeKeys!, table!, now!, 600])
      const { rows } = await client.query({ text: sql, rowMode: 'array' })
      const data = rows.map((row) => row[3])
      expect(data.length).toBeGreaterThan(5)
      expect(data.length).toBeLessThan(20)
      expect(data.indexOf(null)).toBe(data.length - 1)
      expect(rows.map(([place]) => Number(place))).toEqual(rows.map((_, i) => i + 1))
    })

    test('puts and deletes find their row, their table, their key and their organization by the primary keys', async () => {
      for (const [statement, values] of writes) {
        for (const node of (await planOf(client, statement, values)).filter(isScan)) {
          expect(node['Index Name']).toMatch(/^cubby_(record|table|api_key|organization)_8_pkey$/)
          expect(node['Index Cond']).toMatch(/range_key =|\((id|seq) =/)
        }
      }
    })

    // The join of a sweep or purge, and the few rows of counters, need the engine's settings.
    const joins = [sweepInOne, purges.removeKeys, ...onLogs.map(({ statement }) => statement)]
    const isEngine = name.startsWith('the engine')
    const planned = inOrder.filter(({ statement }) => isEngine || !joins.includes(statement))
    test.each(planned.map((one) => [one.statement.name, one] as const))(
      'for files, logs and followers: %s looks for what it needs in an index',
      async (_, { statement, values, looks }) => {
        const nodes = (await planOf(client, statement, values)).filter(isScan)
        // The store has one row, which every look-up of the registry reads.
        const walks = nodes.filter(
          (node) => !/^(CTE|Function|Values)/.test(node['Node Type']) && node['Relation Name'] !== 'cubby_store',
        )
        expect(walks.length > 0).toBe(Object.keys(looks).length > 0)
        for (const node of walks) {
          expect(Object.keys(looks)).toContain(node['Index Name']!)
          expect(node['Index Cond']).toMatch(looks[node['Index Name']!]!)
          expect(node['Actual Rows']! * node['Actual Loops']!).toBeLessThanOrEqual(dueRows)
        }
      },
    )
  })
}
