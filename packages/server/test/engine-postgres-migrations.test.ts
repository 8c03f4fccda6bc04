import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { openPostgresEngine, type PostgresOptions } from '../src/engines/postgres/engine.ts'
import { migrations } from '../src/engines/postgres/migrations/migrations.ts'
import { schemaVersion } from '../src/engines/postgres/migrations/schema.ts'
import type { Engine } from '../src/store/engine.ts'
import { expectSound } from './engine-conformance.ts'
import { type Api, type ApiResponse, eventually, makeTempDir, removeTempDir, runCubby, Server } from './harness.ts'
import { type SharedPostgres, sharedPostgres } from './postgres-server.ts'
import { dayMs, findChangedAnswers } from './stores/expected.ts'
import { folderOf, openCopy, postgresStores, programOf, readExpected, versions } from './stores/kept-stores.ts'

// A store that a newer version opens is migrated while others may use it. A fault here loses or splits data: the store is then of
// neither version, or a process of the older version writes rows that nobody reads.

setDefaultTimeout(120_000)

/** A released version that is migrated. */
interface Released {
  name: string
  version: number
  /** Its tables and sequences by the names of today. */
  tables: Record<string, string>
  sequences: Record<string, string>
  /** The epoch of the registry in `cubby_store`. */
  epoch: string
  /** The row of this version for a row of today, which has more columns or other names for them. */
  rows: Record<string, string>
}

const released: Released[] = [
  {
    name: 'v1',
    version: 1,
    tables: {
      cubby_organization_8: 'cubby_organizations',
      cubby_api_key_8: 'cubby_api_keys',
      cubby_table_8: 'cubby_tables',
      cubby_record_8: 'cubby_records',
    },
    sequences: {
      cubby_organization_8_id_seq: 'cubby_organizations_id_seq',
      cubby_api_key_8_seq_seq: 'cubby_api_keys_seq_seq',
      cubby_table_8_id_seq: 'cubby_tables_id_seq',
      cubby_record_id: 'cubby_record_ids',
    },
    epoch: 'registry_epoch',
    rows: {
      cubby_organization_8: `to_jsonb(r) - 'deleted_at_ms' - 'purging'`,
      cubby_api_key_8: `to_jsonb(r) - 'link' - 'rolled_from' - 'rolled_to'`,
      cubby_table_8: `to_jsonb(r) - 'kind' - 'public_id' - 'keep_hours' - 'changes_since' - 'followers' - 'deleted_at_ms' || jsonb_build_object('deleted_at', r.deleted_at_ms)`,
      cubby_record_8: `to_jsonb(r) - 'ttl_seconds' || jsonb_build_object('ttl', r.ttl_seconds)`,
    },
  },
  {
    name: 'v7',
    version: 7,
    tables: Object.fromEntries(
      ['organization', 'api_key', 'table', 'record', 'blob', 'task', 'run'].map((table) => [
        `cubby_${table}_8`,
        `cubby_${table}`,
      ]),
    ),
    sequences: {
      cubby_organization_8_id_seq: 'cubby_organization_id_seq',
      cubby_api_key_8_seq_seq: 'cubby_api_key_seq_seq',
      cubby_table_8_id_seq: 'cubby_table_id_seq',
      cubby_record_id: 'cubby_record_id',
    },
    epoch: 'epoch',
    rows: {
      cubby_api_key_8: `to_jsonb(r) - 'rolled_from' - 'rolled_to'`,
      cubby_table_8: `to_jsonb(r) - 'keep_hours' - 'changes_since' - 'followers'`,
      cubby_task_8: `to_jsonb(r) - 'follows'`,
      cubby_run_8: `to_jsonb(r) - 'user_name'`,
    },
  },
]

let postgres: SharedPostgres
const kind = postgresStores(() => postgres)

beforeAll(async () => {
  postgres = await sharedPostgres()
}, 120_000)
afterAll(() => postgres.remove(), 60_000)

const copyOf = async (name: string): Promise<string> => {
  const url = await postgres.createSchema()
  await postgres.query(readFileSync(join(folderOf(name), 'cubby.sql'), 'utf8'), url)
  return url
}
const copyOfV1 = (): Promise<string> => copyOf('v1')

const open = (url: string, options: Partial<PostgresOptions> = {}): Promise<Engine> =>
  openPostgresEngine({ url, ...options })

const migrate = async (url: string, options: Partial<PostgresOptions> = {}): Promise<void> => {
  await (await open(url, options)).close()
}

const refusalOf = (url: string, options: Partial<PostgresOptions> = {}): Promise<string> =>
  open(url, options).then(
    async (engine) => {
      await engine.close()
      throw new Error('The store was opened.')
    },
    (error: Error) => error.message,
  )

// ── The parts of a store ───────────────────────────────────────────────────────────────────────────────

/** Reads the rows of several queries through one connection, each row as JSON text. */
const rowsOf = async (url: string, queries: Record<string, string>): Promise<Record<string, string[]>> => {
  const parts = Object.entries(queries).map(
    ([name, sql], i) => `select ${i} as part, '${name}' as name, to_jsonb(q)::text as row from (${sql}) q`,
  )
  const found: Record<string, string[]> = Object.fromEntries(Object.keys(queries).map((name) => [name, []]))
  for (const { name, row } of await postgres.query(`${parts.join(' union all ')} order by 1, 3`, url)) {
    found[name as string]!.push(row as string)
  }
  return found
}

const [v1] = released as [Released]

const ours = 'current_schema()::regnamespace'

/** Reads everything in the catalog that could differ: names, types, order, definitions. */
const schemaOf = (url: string) =>
  rowsOf(url, {
    columns: `select c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull,
        a.attidentity, a.attcollation::regcollation::text as collation, pg_get_expr(d.adbin, d.adrelid) as fallback
      from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where c.relnamespace = ${ours} and c.relkind = 'r' and a.attnum > 0`,
    indexes: `select tablename, indexname, replace(indexdef, current_schema() || '.', '') as definition
      from pg_indexes where schemaname = current_schema()`,
    constraints: `select c.relname, n.conname, n.contype, pg_get_constraintdef(n.oid) as definition
      from pg_constraint n join pg_class c on c.oid = n.conrelid where n.connamespace = ${ours}`,
    sequences: `select s.sequencename, s.data_type::text, s.start_value, s.min_value, s.max_value, s.increment_by, s.cycle,
        s.cache_size, (select d.refobjid::regclass::text || '.' || d.refobjsubid from pg_depend d
          where d.objid = s.sequencename::text::regclass and d.refclassid = 'pg_class'::regclass
            and d.refobjsubid > 0) as owner
      from pg_sequences s where s.schemaname = current_schema()`,
    others: `select relkind, relname from pg_class where relnamespace = ${ours} and relkind not in ('i', 'S')`,
  })

/** Reads every row of a store of the version, and the state of its sequences, under the names of today. */
const contentBefore = (url: string, { tables, sequences, epoch }: Released) =>
  rowsOf(url, {
    store: `select lease_ms, ${epoch} as epoch from cubby_store`,
    ...Object.fromEntries(
      Object.entries({ ...tables, ...sequences }).map(([name, oldName]) => [
        name,
        `select to_jsonb(r) as row from (select * from ${oldName}) r`,
      ]),
    ),
  })

/** Reads the same from a store that was migrated. */
const contentAfter = (url: string, { tables, sequences, rows }: Released) =>
  rowsOf(url, {
    store: 'select lease_ms, epoch_8 as epoch from cubby_store',
    ...Object.fromEntries(
      Object.keys({ ...tables, ...sequences }).map((name) => [
        name,
        `select ${rows[name] ?? 'to_jsonb(r)'} as row from (select * from ${name}) r`,
      ]),
    ),
  })

const versionOf = async (url: string): Promise<unknown> =>
  (await postgres.query('select version from cubby_store', url))[0]!.version

/** Opens a transaction that holds the locks of `sql` until it is ended. */
const hold = async (url: string, sql: string): Promise<{ end(): Promise<void>; pid: number }> => {
  const client = new pg.Client({ connectionString: url, application_name: 'a report' })
  client.on('error', () => {})
  await client.connect()
  await client.query(`begin; ${sql}`)
  const { rows } = await client.query('select pg_backend_pid() as pid')
  return { end: () => client.end(), pid: rows[0].pid }
}

const waitForLockWait = () =>
  eventually('a migration that waits for a lock', async () => {
    const rows = await postgres.query(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'cubby' and wait_event_type = 'Lock'
         and query ~ '^(lock|alter) table'`,
    )
    return rows.length > 0 ? true : undefined
  })

// ── The migrations themselves ──────────────────────────────────────────────────────────────────────────────

test('a migration leads from each released version to the next, and the last one to the version of the schema', () => {
  const known = versions.map((version) => Number(version.slice(1))).toSorted((a, b) => a - b)
  expect(known.at(-1)).toBe(schemaVersion)
  expect(migrations.map(({ from, to }) => [from, to])).toEqual(known.slice(1).map((to, i) => [known[i]!, to]))
  expect(released.map(({ version }) => version)).toEqual(known.slice(0, -1))
})

describe.each(released.map((of) => [of.version, of] as const))(
  'a store of version %d that is migrated',
  (version, of) => {
    test('has the schema of a new one, every row, and ids that continue where they were', async () => {
      const [upgraded, fresh] = [await copyOf(of.name), await postgres.createSchema()]
      const before = await contentBefore(upgraded, of)
      await migrate(upgraded)
      await migrate(fresh)
      expect(await schemaOf(upgraded)).toEqual(await schemaOf(fresh))
      expect(await contentAfter(upgraded, of)).toEqual(before)
      expect(Object.values(before).every((rows) => rows.length > 0)).toBe(true)
      expect(await versionOf(upgraded)).toBe(schemaVersion)
    })

    test('is migrated once by processes that start together, and they share one secret', async () => {
      const url = await copyOf(of.name)
      const before = await contentBefore(url, of)
      const migrated: unknown[] = []
      const log: PostgresOptions['log'] = (_level, message, about) => {
        if (message === 'the store was migrated') migrated.push(about)
      }
      const engines = await Promise.all(Array.from({ length: 5 }, () => open(url, { log })))
      try {
        expect(migrated).toEqual([{ from: version, to: schemaVersion }])
        const sealed = (await engines[0]!.secrets.at(0)).seal.seal(Buffer.from('a place'))
        for (const engine of engines) {
          const { seal } = await engine.secrets.at(0)
          expect(seal.open(sealed)?.toString()).toBe('a place')
          expect(seal.acceptsPlain).toBe(version === 1)
        }
        expect(await contentAfter(url, of)).toEqual(before)
        await expectSound(engines[0]!)
      } finally {
        await Promise.all(engines.map((engine) => engine.close()))
      }
    })
  },
)

test('each store has a random secret of its own, and a new store does not read plain cursors', async () => {
  const urls = [await copyOfV1(), await copyOfV1(), await postgres.createSchema()]
  const keys: string[] = []
  for (const url of urls) {
    await migrate(url)
    const [row] = await postgres.query(
      `select encode(cursor_key, 'hex') as key, accepts_plain_cursors as plain from cubby_store`,
      url,
    )
    expect(row!.plain).toBe(url !== urls[2])
    keys.push(row!.key as string)
    // A second start leaves it alone.
    await migrate(url)
    expect((await postgres.query(`select encode(cursor_key, 'hex') as key from cubby_store`, url))[0]!.key).toBe(
      row!.key,
    )
  }
  expect(new Set(keys).size).toBe(3)
  for (const key of keys) expect(key).toMatch(/^(?!0{64})[0-9a-f]{64}$/)
})

// ── While other transactions run ──────────────────────────────────────────────────────────────────────────────

describe('a transaction that is open on the store', () => {
  test.each(released.map((of) => [of.version, of] as const))('of version %d is waited for', async (version, of) => {
    const url = await copyOf(of.name)
    const holder = await hold(url, `select 1 from ${of.tables.cubby_record_8} limit 1`)
    const opening = open(url)
    await waitForLockWait()
    expect(await versionOf(url)).toBe(version)
    await holder.end()
    await (await opening).close()
    expect(await versionOf(url)).toBe(schemaVersion)
  })

  test('for longer than ten seconds: the start ends with one line that names it, and nothing is changed', async () => {
    const url = await copyOfV1()
    const before = { content: await contentBefore(url, v1), schema: await schemaOf(url) }
    const holder = await hold(url, 'select 1 from cubby_records limit 1')
    // The second one waits for the first, and then for the same transaction.
    const lines = await Promise.all([refusalOf(url), refusalOf(url)])
    for (const line of lines) {
      expect(line).toMatch(
        new RegExp(
          `^the store cannot be migrated from version 1 to ${schemaVersion} now: it waits for the transaction of process ` +
            `${holder.pid} \\(a report, user postgres, idle in transaction\\), open since \\d{4}-[^;\n]+; start again when that has ended$`,
        ),
      )
    }
    await holder.end()
    expect({ content: await contentBefore(url, v1), schema: await schemaOf(url) }).toEqual(before)
    await migrate(url)
  })
})

test.each(released.map((of) => [of.version, of] as const))(
  'a user that does not own the tables of version %d gets one line that says so; after the migration it can use the store',
  async (version, of) => {
    const url = await copyOf(of.name)
    const schema = new URL(url).searchParams.get('options')!.split('=')[1]
    await postgres.query(
      `create role tenant_${version} login password 'other';
     grant usage, create on schema ${schema} to tenant_${version};
     grant select, insert, update, delete on all tables in schema ${schema} to tenant_${version};
     grant usage, select, update on all sequences in schema ${schema} to tenant_${version}`,
      url,
    )
    const theirs = new URL(url)
    theirs.username = `tenant_${version}`
    theirs.password = 'other'
    const before = { content: await contentBefore(url, of), schema: await schemaOf(url) }
    expect(await refusalOf(theirs.href)).toBe(
      `the store has version ${version} and this user may not migrate it to ${schemaVersion} ` +
        `(must be owner of table ${of.tables.cubby_record_8}): start this version once as the owner of its tables`,
    )
    expect({ content: await contentBefore(url, of), schema: await schemaOf(url) }).toEqual(before)
    await migrate(url)
    const engine = await open(theirs.href)
    expect((await engine.organizations.list()).length).toBeGreaterThan(0)
    await engine.close()
  },
)

// ── Whole processes ────────────────────────────────────────────────────────────────────────────────────────

/** A server on the store at `url`, its clock a day after the writing of the version. Not started. */
const serverOn = (url: string, dataDir: string, { name }: Released = v1, files?: string): Server => {
  const server = new Server({ dataDir, store: url, files, clock: true })
  server.setClock(readExpected(name).writtenAtMs + dayMs - Date.now())
  return server
}

describe('a server that is killed in the middle of the migration', () => {
  for (const [of, where, sql] of released.flatMap((of) => [
    [of, 'before it has changed anything', `lock table ${of.tables.cubby_record_8} in access share mode`] as const,
    // This lock is needed later: tables, indexes and sequences have their new names by then, uncommitted.
    [of, 'when everything is renamed', 'lock table cubby_store in access share mode'] as const,
  ])) {
    test(`from version ${of.version}, ${where}: the store is as it was, and the next start migrates it`, async () => {
      const dataDir = makeTempDir()
      const copy = await kind.copy(folderOf(of.name), dataDir)
      const url = copy.store!
      const before = { content: await contentBefore(url, of), schema: await schemaOf(url) }
      const server = serverOn(url, dataDir, of, copy.files)
      try {
        const holder = await hold(url, sql)
        const starting = server.start().catch((error: Error) => error.message)
        await waitForLockWait()
        await server.kill()
        expect(await starting).toContain('before it was ready')
        await holder.end()
        await eventually('its transaction is rolled back', async () => {
          const rows = await postgres.query(
            `select 1 from pg_stat_activity where datname = current_database() and application_name = 'cubby'`,
          )
          return rows.length === 0 ? true : undefined
        })
        expect({ content: await contentBefore(url, of), schema: await schemaOf(url) }).toEqual(before)

        await server.start()
        expect(await versionOf(url)).toBe(schemaVersion)
        expect(await findChangedAnswers(server, readExpected(of.name))).toEqual([])
        expect(await server.cubby('verify')).toMatchObject({ exitCode: 0 })
      } finally {
        await server.stop()
        removeTempDir(dataDir)
      }
    })
  }
})

// A stopped process holds the locks and does nothing: without a limit, no other process could start or serve.
test('a server that is stopped, not killed, in the middle of the migration does not keep others from it', async () => {
  const url = await copyOfV1()
  const dataDir = makeTempDir()
  const server = serverOn(url, dataDir)
  try {
    const holder = await hold(url, 'lock table cubby_store in access share mode')
    const starting = server.start().catch((error: Error) => error.message)
    await waitForLockWait()
    process.kill(server.pid, 'SIGSTOP')
    await holder.end()
    await migrate(url)
    expect(await versionOf(url)).toBe(schemaVersion)
    // It continues, and finds that its connection was ended.
    process.kill(server.pid, 'SIGCONT')
    expect(await starting).toContain('cannot be opened')
  } finally {
    await server.kill().catch(() => {})
    server.remove()
    removeTempDir(dataDir)
  }
})

test('two servers that start at once on a store of version 1 both serve it: a cursor of one works on the other', async () => {
  const url = await copyOfV1()
  const dataDirs = [makeTempDir(), makeTempDir()]
  const servers = dataDirs.map((dataDir) => serverOn(url, dataDir))
  try {
    await Promise.all(servers.map((server) => server.start()))
    const migrated = servers.flatMap(({ log }) => log.filter(({ message }) => message === 'the store was migrated'))
    expect(migrated).toHaveLength(1)
    const [one, other] = servers.map((server) => server.as(readExpected('v1').keys.secret!)) as [Api, Api]
    const query = { index: 't', limit: 3 }
    const first = (await one.post('/v1/app/people/query', query)).body
    const next = await other.post('/v1/app/people/query', { ...query, cursor: first.cursor })
    expect(next.status).toBe(200)
    expect(next.body.items).toHaveLength(3)
    expect(next.text).toBe((await one.post('/v1/app/people/query', { ...query, cursor: first.cursor })).text)
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    for (const dataDir of dataDirs) removeTempDir(dataDir)
  }
})

// ── Processes of older versions on the same store ────────────────────────────────────────────────────────────────────

describe.each(released.map((of) => [of.version, of] as const))('a process of store version %d', (version, of) => {
  const expected = readExpected(of.name)

  test('with traffic before, during and after the migration: what it acknowledged is there, and it writes nothing afterwards', async () => {
    const old = await openCopy(kind, folderOf(of.name), expected, dayMs, {
      program: await programOf(of.name),
    })
    const url = old.copy.store!
    const api = old.as(expected.keys.secret!)
    const people = '/v1/app/people'
    let number = 0
    let migratedAt = Number.POSITIVE_INFINITY
    let stopped = false
    const answers: { kind: string; name: string; status: number; startedAt: number }[] = []
    const requests: Record<string, (name: string) => Promise<ApiResponse>> = {
      put: (name) => api.put(people, { hashKey: name, data: { city: 'Paris' } }),
      'put if absent': (name) => api.put(people, { hashKey: name, data: {} }, { 'If-None-Match': '*' }),
      batch: (name) => api.post(`${people}/batch`, { operations: [{ op: 'put', hashKey: name, data: {} }] }),
      'mixed batch': (name) =>
        api.post(`${people}/batch`, {
          operations: [
            { op: 'put', hashKey: name, data: {} },
            { op: 'delete', hashKey: `${name} not there` },
          ],
        }),
      delete: (name) => api.delete(`${people}/${name}`),
      table: (name) => api.post(`/v1/app/${name}`),
      key: (name) => api.post('/api/keys', { kind: 'public', name }),
      get: () => api.get(`${people}/ada`),
      query: () => api.post(`${people}/query`, { index: 'i1', hash: 'Oslo' }),
    }
    const kinds = Object.keys(requests)
    /** Names that were put and not deleted yet. */
    const put: string[] = []
    const client = async (): Promise<void> => {
      while (!stopped) {
        const kind = kinds[number % kinds.length]!
        const name = kind === 'delete' ? (put.shift() ?? 'nothing') : `n-${++number}`
        if (kind === 'delete') number++
        const startedAt = performance.now()
        const { status } = await requests[kind]!(name)
        answers.push({ kind, name, status, startedAt })
        if (kind === 'put' && status === 200) put.push(name)
      }
    }
    const running = Array.from({ length: 8 }, client)
    const after = () => answers.filter(({ startedAt }) => startedAt > migratedAt)
    try {
      await eventually('traffic', () => (answers.length > 300 ? true : undefined))
      expect(answers.filter(({ status }) => status >= 400 && status !== 404)).toEqual([])

      await migrate(url)
      migratedAt = performance.now()
      const sweepsLogged = () => old.log.filter(({ message }) => message.startsWith('sweep failed; ')).length
      // Sweeps would remove these at once: an expired record, and a table past its recovery with a record.
      await postgres.query(
        `insert into cubby_record_8 (id, table_id, hash_key, range_key, updated_at, ttl_seconds, data)
           select nextval('cubby_record_id'), id, 'expired', '', 1, 1, '{}' from cubby_table_8 where name = 'people';
         insert into cubby_table_8 (org_id, db, name, indices, created_at, deleted_at_ms) values (1, 'app', 'old', '{}', 1, 1);
         insert into cubby_record_8 (id, table_id, hash_key, range_key, updated_at, data)
           select nextval('cubby_record_id'), id, 'in it', '', 1, '{}' from cubby_table_8 where name = 'old'`,
        url,
      )
      const migrated = await contentAfter(url, of)
      const logged = sweepsLogged()
      // It finds no keys any more, so there are no uses of keys to write either.
      await eventually('requests of each kind, and sweeps after the migration', () => {
        const enough = kinds.every((kind) => after().filter((answer) => answer.kind === kind).length >= 20)
        return enough && sweepsLogged() >= logged + 3 ? true : undefined
      })
      stopped = true
      await Promise.all(running)

      // No request succeeded, and nothing was written: rows, epoch and sequences are the same.
      expect(after().filter(({ status }) => status < 500)).toEqual([])
      expect(await contentAfter(url, of)).toEqual(migrated)

      // docs/engines.md says that 0.1 calls itself ready, but finds no key and no table when its lease has ended.
      if (version === 1) expect((await old.request('GET', '/readyz')).status).toBe(200)
      for (const path of [people, '/v1']) {
        await eventually(`GET ${path} finds no key`, async () =>
          (await api.get(path)).status === 500 ? true : undefined,
        )
      }

      // Its commands fail too, and so do the writes that it has left for its end.
      expect((await old.cubby('keys', 'create', '--org', 'acme', '--kind', 'secret')).exitCode).toBe(1)
      expect((await old.cubby('orgs', 'create', 'late')).exitCode).toBe(1)
      expect(await old.end('SIGTERM')).toBe(0)
      expect(await contentAfter(url, of)).toEqual(migrated)
    } finally {
      stopped = true
      await old.stop()
    }

    // All acknowledged writes are in the store.
    const succeeded = (...kinds: string[]) =>
      answers.filter(({ kind, status }) => kinds.includes(kind) && status < 300).map(({ name }) => name)
    const column = async (sql: string): Promise<Set<unknown>> =>
      new Set((await postgres.query(sql, url)).map((row) => Object.values(row)[0]))
    const hashKeys = await column(`select encode(hash_key, 'hex') from cubby_record_8`)
    const records = { has: (name: string) => hashKeys.has(Buffer.from(name).toString('hex')) }
    const deleted = new Set(answers.filter(({ kind }) => kind === 'delete').map(({ name }) => name))
    const putNames = succeeded('put', 'put if absent', 'batch', 'mixed batch')
    expect(putNames.length).toBeGreaterThan(100)
    expect(putNames.filter((name) => !deleted.has(name) && !records.has(name))).toEqual([])
    expect(succeeded('delete').filter((name) => records.has(name))).toEqual([])
    const tables = await column('select name from cubby_table_8')
    expect(succeeded('table').filter((name) => !tables.has(name))).toEqual([])
    const keys = await column('select name from cubby_api_key_8')
    expect(succeeded('key').filter((name) => !keys.has(JSON.stringify(name)))).toEqual([])
    const engine = await open(url)
    await postgres.query(`delete from cubby_table_8 where name = 'old'`, url)
    expect(await Array.fromAsync(engine.maintenance.check())).toEqual([expect.stringContaining('"in it"')])
    await engine.close()
  })

  test('that starts on a migrated store refuses it in one line and changes nothing', async () => {
    const url = await copyOf(of.name)
    await migrate(url)
    const program = await programOf(of.name)
    const before = { content: await contentAfter(url, of), schema: await schemaOf(url) }
    for (const command of [
      ['serve', '--port', '0'],
      ['orgs', 'create', 'late'],
      ['keys', 'create', '--org', 'acme', '--kind', 'secret'],
      ['verify'],
    ]) {
      const { exitCode, stderr } = await runCubby([...command, '--store', url], { program })
      expect(exitCode).toBe(1)
      expect(stderr).toContain(`the store has version ${schemaVersion}; this Cubby knows versions up to ${version}`)
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
    expect({ content: await contentAfter(url, of), schema: await schemaOf(url) }).toEqual(before)
  })

  test('that starts while the store is being migrated waits for it, and refuses it', async () => {
    const url = await copyOf(of.name)
    const holder = await hold(url, `lock table ${of.tables.cubby_record_8} in access share mode`)
    const opening = open(url)
    await waitForLockWait()
    const starting = runCubby(['orgs', 'create', 'late', '--store', url], { program: await programOf(of.name) })
    await holder.end()
    await (await opening).close()
    const { exitCode } = await starting
    const names = await postgres.query('select name from cubby_organization_8', url)
    // It may have read the version before the migration took its locks: then its write came before, or failed.
    expect(exitCode === 0).toBe(names.some(({ name }) => name === 'late'))
  })
})

test('a store of a newer version is refused, by servers and commands', async () => {
  const url = await copyOfV1()
  await migrate(url)
  await postgres.query(`update cubby_store set version = ${schemaVersion + 1}`, url)
  const before = await contentAfter(url, v1)
  const line = `the store has version ${schemaVersion + 1}; this Cubby knows versions up to ${schemaVersion}: start a newer one`
  for (const command of [['serve', '--port', '0'], ['orgs', 'create', 'late'], ['verify']]) {
    const { exitCode, stderr } = await runCubby([...command, '--store', url])
    expect({ exitCode, stderr: stderr.trim() }).toEqual({ exitCode: 1, stderr: expect.stringContaining(line) })
  }
  expect(await contentAfter(url, v1)).toEqual(before)
})

test.each([2, 3, 4, 5, 6])(
  'a store of the unreleased version %d is refused in one line and stays as it is',
  async (version) => {
    const [url, dataDir] = [await copyOfV1(), makeTempDir()]
    await postgres.query(`update cubby_store set version = ${version}`, url)
    const before = { content: await contentBefore(url, v1), schema: await schemaOf(url) }
    const line =
      `the store has version ${version}, which only development builds between 0.1 and 0.2 wrote, and this Cubby does not ` +
      'migrate it: export its data with the build that wrote it, and import it into a new store'
    expect(await refusalOf(url)).toBe(line)
    const commands = [
      ['serve', '--port', '0', '--store', url],
      ['orgs', 'create', 'late', '--store', url],
      ['verify', '--store', url],
      ['copy', '--from', url, '--to', join(dataDir, 'copy')],
      ['copy', '--from', dataDir, '--to', url],
    ]
    if (version === 2) expect((await runCubby(['orgs', 'create', 'acme', '--data', dataDir])).exitCode).toBe(0)
    for (const command of version === 2 ? commands : []) {
      const { exitCode, stdout, stderr } = await runCubby(command)
      expect([command[0], exitCode, stdout]).toEqual([command[0]!, 1, ''])
      expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(line)])
    }
    expect({ content: await contentBefore(url, v1), schema: await schemaOf(url) }).toEqual(before)
    expect(await versionOf(url)).toBe(version)
    removeTempDir(dataDir)
  },
)

test.each(released)('the store of $name is what this file says it is', ({ name, tables }) => {
  const text = readFileSync(join(folderOf(name), 'cubby.sql'), 'utf8')
  for (const [newName, oldName] of Object.entries(tables)) {
    expect(text).toContain(`create table ${oldName} (`)
    expect(text).not.toContain(`${newName} `)
  }
})
