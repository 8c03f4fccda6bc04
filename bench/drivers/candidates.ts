import { SQL } from 'bun'
import pg from 'pg'
import { connectSession } from '../../packages/server/src/engines/postgres/connection/connect.ts'
import { Database, organization } from '../../packages/server/src/engines/postgres/connection/database.ts'
import type { Statement, Value } from '../../packages/server/src/engines/postgres/connection/driver.ts'
import { Pool } from '../../packages/server/src/engines/postgres/connection/pool.ts'
import { parseStoreUrl } from '../../packages/server/src/engines/postgres/connection/store-url.ts'
import { type Dialect, openingOf } from '../../packages/server/src/engines/postgres/dialect.ts'

export interface Candidate {
  name: string
  /** Runs a prepared statement and returns the number of rows. */
  run(statement: Statement, values: Value[]): Promise<number>
  close(): Promise<void>
}

/** `pg` as in its documentation: named statements, one client per connection. The baseline for the engine. */
const openPg = async (url: string, size: number, opening: string): Promise<Candidate> => {
  const clients = await Promise.all(
    Array.from({ length: size }, async () => {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      await client.query(opening)
      return client
    }),
  )
  const idle = [...clients]
  const waiting: ((client: pg.Client) => void)[] = []
  return {
    name: 'pg',
    async run({ name, text }, values) {
      const client = idle.pop() ?? (await new Promise<pg.Client>((resolve) => waiting.push(resolve)))
      try {
        return (await client.query({ name, text, values, rowMode: 'array' })).rows.length
      } finally {
        const next = waiting.shift()
        if (next === undefined) idle.push(client)
        else next(client)
      }
    },
    close: async () => void (await Promise.all(clients.map((client) => client.end()))),
  }
}

/** The engine's own driver: `pg` for the connection, our own pipelines and bounded pool. */
const openPipelines = async (url: string, size: number, dialect: Dialect): Promise<Candidate> => {
  const place = parseStoreUrl(url)
  const connect = () => connectSession(place, dialect)
  const pool = new Pool({ size, waitMsMax: 60_000, connect, log: () => {} })
  const db = new Database(pool, 60_000, dialect, () => {})
  return {
    name: 'pg, own pipelines',
    run: async (statement, values) => (await db.read(organization(1), { statement, values }))[0]!.rows.length,
    close: () => pool.close(1_000),
  }
}

/** Its pool cannot set session settings, so this run sets them on the database. */
const openBunSql = async (url: string, size: number): Promise<Candidate> => {
  const sql = new SQL(url, { max: size })
  await sql`select 1`
  return {
    name: 'Bun.sql',
    run: async ({ text }, values) => (await sql.unsafe(text, values)).length,
    close: () => sql.close(),
  }
}

export const openCandidates = async (url: string, size: number, dialect: Dialect): Promise<Candidate[]> => [
  await openPg(url, size, openingOf(dialect)),
  await openPipelines(url, size, dialect),
  await openBunSql(url, size),
]
