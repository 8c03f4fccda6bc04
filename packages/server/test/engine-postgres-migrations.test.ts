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

const expected = readExpected('v1')
const program = await programOf('v1')

let postgres: SharedPostgres
const kind = postgresStores(() => postgres)

beforeAll(async () => {
  postgres = await sharedPostgres()
}, 120_000)
afterAll(() => postgres.remove(), 60_000)

const copyOfV1 = async (): Promise<string> => {
  const url = await postgres.createSchema()
  await postgres.query(readFileSync(join(folderOf('v1'), 'cubby.sql'), 'utf8'), url)
  return url
}

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

/** The tables that both versions have, under their names in version 7. */
const oldTableNames = { organization: 'organizations', api_key: 'api_keys', table: 'tables', record: 'records' }
const oldSequenceNames = {
  organization_id_seq: 'organizations_id_seq',
  api_key_seq_seq: 'api_keys_seq_seq',
  table_id_seq: 'tables_id_seq',
  record_id: 'record_ids',
}

/** The row that version 1 has for a row of version 7, which has more columns, and other names for two of them. */
const rowOf: Record<string, string> = {
  organization: `to_jsonb(r) - 'deleted_at_ms' - 'purging'`,
  api_key: `to_jsonb(r) - 'link'`,
  table: `to_jsonb(r) - 'kind' - 'public_id' - 'deleted_at_ms' || jsonb_build_object('deleted_at', r.deleted_at_ms)`,
  record: `to_jsonb(r) - 'ttl_seconds' || jsonb_build_object('ttl', r.ttl_seconds)`,
}

/** Reads every row of the store and the state of its sequences, under the names of version 7 and with the columns of version 1. */
const contentOf = (url: string, version: 1 | 7) => {
  const queries = Object.entries({ ...oldTableNames, ...oldSequenceNames }).map(([name, oldName]) => {
    const row = (version === 7 && rowOf[name]) || 'to_jsonb(r)'
    return [name, `select ${row} as row from (select * from cubby_${version === 1 ? oldName : name}) r`]
  })
  return rowsOf(url, {
    store: `select lease_ms, ${version === 1 ? 'registry_epoch' : 'epoch'} as epoch from cubby_store`,
    ...Object.fromEntries(queries),
  })
}

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
  const released = versions.map((version) => Number(version.slice(1))).toSorted((a, b) => a - b)
  expect(released.at(-1)).toBe(schemaVersion)
  expect(migrations.map(({ from, to }) => [from, to])).toEqual(released.slice(1).map((to, i) => [released[i]!, to]))
})

describe('a store of version 1 that is migrated', () => {
  test('has the schema of a new one, every row, and ids that continue where they were', async () => {
    const [upgraded, fresh] = [await copyOfV1(), await postgres.createSchema()]
    const before = await contentOf(upgraded, 1)
    await migrate(upgraded)
    await migrate(fresh)
    expect(await schemaOf(upgraded)).toEqual(await schemaOf(fresh))
    expect(await contentOf(upgraded, 7)).toEqual(before)
    expect(Object.values(before).every((rows) => rows.length > 0)).toBe(true)
    expect(await versionOf(upgraded)).toBe(schemaVersion)
    expect(await postgres.query('select distinct kind from cubby_table', upgraded)).toEqual([{ kind: 'table' }])
  })

  test('is migrated once by processes that start together, and they share one secret', async () => {
    const url = await copyOfV1()
    const before = await contentOf(url, 1)
    const migrated: unknown[] = []
    const log: PostgresOptions['log'] = (_level, message, about) => {
      if (message === 'the store was migrated') migrated.push(about)
    }
    const engines = await Promise.all(Array.from({ length: 5 }, () => open(url, { log })))
    try {
      expect(migrated).toEqual([{ from: 1, to: schemaVersion }])
      const sealed = (await engines[0]!.secrets.at(0)).seal.seal(Buffer.from('a place'))
      for (const engine of engines) {
        const { seal } = await engine.secrets.at(0)
        expect(seal.open(sealed)?.toString()).toBe('a place')
        expect(seal.acceptsPlain).toBe(true)
      }
      expect(await contentOf(url, 7)).toEqual(before)
      await expectSound(engines[0]!)
    } finally {
      await Promise.all(engines.map((engine) => engine.close()))
    }
  })
})

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
  test('is waited for', async () => {
    const url = await copyOfV1()
    const holder = await hold(url, 'select 1 from cubby_records limit 1')
    const opening = open(url)
    await waitForLockWait()
    expect(await versionOf(url)).toBe(1)
    await holder.end()
    await (await opening).close()
    expect(await versionOf(url)).toBe(schemaVersion)
  })

  test('for longer than ten seconds: the start ends with one line that names it, and nothing is changed', async () => {
    const url = await copyOfV1()
    const before = { content: await contentOf(url, 1), schema: await schemaOf(url) }
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
    expect({ content: await contentOf(url, 1), schema: await schemaOf(url) }).toEqual(before)
    await migrate(url)
  })
})

test('a user that does not own the tables gets one line that says so; after the migration it can use the store', async () => {
  const url = await copyOfV1()
  const schema = new URL(url).searchParams.get('options')!.split('=')[1]
  await postgres.query(
    `create role tenant login password 'other';
     grant usage, create on schema ${schema} to tenant;
     grant select, insert, update, delete on all tables in schema ${schema} to tenant;
     grant usage, select, update on all sequences in schema ${schema} to tenant`,
    url,
  )
  const theirs = new URL(url)
  theirs.username = 'tenant'
  theirs.password = 'other'
  const before = { content: await contentOf(url, 1), schema: await schemaOf(url) }
  expect(await refusalOf(theirs.href)).toBe(
    `the store has version 1 and this user may not migrate it to ${schemaVersion} ` +
      '(must be owner of table cubby_records): start this version once as the owner of its tables',
  )
  expect({ content: await contentOf(url, 1), schema: await schemaOf(url) }).toEqual(before)
  await migrate(url)
  const engine = await open(theirs.href)
  expect((await engine.organizations.list()).length).toBeGreaterThan(0)
  await engine.close()
})

// ── Whole processes ────────────────────────────────────────────────────────────────────────────────────────

/** A server on the store at `url`, its clock a day after the writing of version 1. Not started. */
const serverOn = (url: string, dataDir: string): Server => {
  const server = new Server({ dataDir, store: url, clock: true })
  server.setClock(expected.writtenAtMs + dayMs - Date.now())
  return server
}

describe('a server that is killed in the middle of the migration', () => {
  for (const [where, sql] of [
    ['before it has changed anything', 'lock table cubby_records in access share mode'],
    // This lock is needed later: tables, indexes and sequences have their new names by then, uncommitted.
    ['when everything is renamed', 'lock table cubby_store in access share mode'],
  ] as const) {
    test(`${where}: the store is as it was, and the next start migrates it`, async () => {
      const url = await copyOfV1()
      const before = { content: await contentOf(url, 1), schema: await schemaOf(url) }
      const dataDir = makeTempDir()
      const server = serverOn(url, dataDir)
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
        expect({ content: await contentOf(url, 1), schema: await schemaOf(url) }).toEqual(before)

        await server.start()
        expect(await versionOf(url)).toBe(schemaVersion)
        expect(await findChangedAnswers(server, expected)).toEqual([])
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
    const [one, other] = servers.map((server) => server.as(expected.keys.secret!)) as [Api, Api]
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

// ── Version 0.1 on the same store ──────────────────────────────────────────────────────────────────────────────────

describe('a process of version 0.1', () => {
  test('with traffic before, during and after the migration: what it acknowledged is there, and it writes nothing afterwards', async () => {
    const old = await openCopy(kind, folderOf('v1'), expected, dayMs, { program })
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
      const sweepsLogged = () => old.log.filter(({ message }) => message === 'sweep failed; it goes on later').length
      // Sweeps would remove these at once: an expired record, and a table past its recovery with a record.
      await postgres.query(
        `insert into cubby_record (id, table_id, hash_key, range_key, updated_at, ttl_seconds, data)
           select nextval('cubby_record_id'), id, 'expired', '', 1, 1, '{}' from cubby_table where name = 'people';
         insert into cubby_table (org_id, db, name, indices, created_at, deleted_at_ms) values (1, 'app', 'old', '{}', 1, 1);
         insert into cubby_record (id, table_id, hash_key, range_key, updated_at, data)
           select nextval('cubby_record_id'), id, 'in it', '', 1, '{}' from cubby_table where name = 'old'`,
        url,
      )
      const migrated = await contentOf(url, 7)
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
      expect(await contentOf(url, 7)).toEqual(migrated)

      // docs/engines.md says that it calls itself ready, but finds no key and no table when its lease has ended.
      expect((await old.request('GET', '/readyz')).status).toBe(200)
      for (const path of [people, '/v1']) {
        await eventually(`GET ${path} finds no key`, async () =>
          (await api.get(path)).status === 500 ? true : undefined,
        )
      }

      // Its commands fail too, and so do the writes that it has left for its end.
      expect((await old.cubby('keys', 'create', '--org', 'acme', '--kind', 'secret')).exitCode).toBe(1)
      expect((await old.cubby('orgs', 'create', 'late')).exitCode).toBe(1)
      expect(await old.end('SIGTERM')).toBe(0)
      expect(await contentOf(url, 7)).toEqual(migrated)
    } finally {
      stopped = true
      await old.stop()
    }

    // All acknowledged writes are in the store.
    const succeeded = (...kinds: string[]) =>
      answers.filter(({ kind, status }) => kinds.includes(kind) && status < 300).map(({ name }) => name)
    const column = async (sql: string): Promise<Set<unknown>> =>
      new Set((await postgres.query(sql, url)).map((row) => Object.values(row)[0]))
    const hashKeys = await column(`select encode(hash_key, 'hex') from cubby_record`)
    const records = { has: (name: string) => hashKeys.has(Buffer.from(name).toString('hex')) }
    const deleted = new Set(answers.filter(({ kind }) => kind === 'delete').map(({ name }) => name))
    const putNames = succeeded('put', 'put if absent', 'batch', 'mixed batch')
    expect(putNames.length).toBeGreaterThan(100)
    expect(putNames.filter((name) => !deleted.has(name) && !records.has(name))).toEqual([])
    expect(succeeded('delete').filter((name) => records.has(name))).toEqual([])
    const tables = await column('select name from cubby_table')
    expect(succeeded('table').filter((name) => !tables.has(name))).toEqual([])
    const keys = await column('select name from cubby_api_key')
    expect(succeeded('key').filter((name) => !keys.has(JSON.stringify(name)))).toEqual([])
    const engine = await open(url)
    await postgres.query(`delete from cubby_table where name = 'old'`, url)
    expect(await Array.fromAsync(engine.maintenance.check())).toEqual([expect.stringContaining('"in it"')])
    await engine.close()
  })

  test('that starts on a migrated store refuses it in one line and changes nothing', async () => {
    const url = await copyOfV1()
    await migrate(url)
    const before = { content: await contentOf(url, 7), schema: await schemaOf(url) }
    for (const command of [
      ['serve', '--port', '0'],
      ['orgs', 'create', 'late'],
      ['keys', 'create', '--org', 'acme', '--kind', 'secret'],
      ['verify'],
    ]) {
      const { exitCode, stderr } = await runCubby([...command, '--store', url], { program })
      expect(exitCode).toBe(1)
      expect(stderr).toContain(`the store has version ${schemaVersion}; this Cubby knows versions up to 1`)
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
    expect({ content: await contentOf(url, 7), schema: await schemaOf(url) }).toEqual(before)
  })

  test('that starts while the store is being migrated waits for it, and refuses it', async () => {
    const url = await copyOfV1()
    const holder = await hold(url, 'lock table cubby_records in access share mode')
    const opening = open(url)
    await waitForLockWait()
    const starting = runCubby(['orgs', 'create', 'late', '--store', url], { program })
    await holder.end()
    await (await opening).close()
    const { exitCode } = await starting
    const names = await postgres.query('select name from cubby_organization', url)
    // It may have read the version before the migration took its locks: then its write came before, or failed.
    expect(exitCode === 0).toBe(names.some(({ name }) => name === 'late'))
  })
})

test('a store of a newer version is refused, by servers and commands', async () => {
  const url = await copyOfV1()
  await migrate(url)
  await postgres.query(`update cubby_store set version = ${schemaVersion + 1}`, url)
  const before = await contentOf(url, 7)
  const line = `the store has version ${schemaVersion + 1}; this Cubby knows versions up to ${schemaVersion}: start a newer one`
  for (const command of [['serve', '--port', '0'], ['orgs', 'create', 'late'], ['verify']]) {
    const { exitCode, stderr } = await runCubby([...command, '--store', url])
    expect({ exitCode, stderr: stderr.trim() }).toEqual({ exitCode: 1, stderr: expect.stringContaining(line) })
  }
  expect(await contentOf(url, 7)).toEqual(before)
})

test.each([2, 3, 4, 5, 6])(
  'a store of the unreleased version %d is refused in one line and stays as it is',
  async (version) => {
    const [url, dataDir] = [await copyOfV1(), makeTempDir()]
    await postgres.query(`update cubby_store set version = ${version}`, url)
    const before = { content: await contentOf(url, 1), schema: await schemaOf(url) }
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
    expect({ content: await contentOf(url, 1), schema: await schemaOf(url) }).toEqual(before)
    expect(await versionOf(url)).toBe(version)
    removeTempDir(dataDir)
  },
)

test('the store of version 1 is what this file says it is', () => {
  const text = readFileSync(join(folderOf('v1'), 'cubby.sql'), 'utf8')
  for (const [name, oldName] of Object.entries(oldTableNames)) {
    expect(text).toContain(`create table cubby_${oldName} (`)
    expect(text).not.toContain(`cubby_${name} `)
  }
})
