import { StoreRefused } from '../../../core/store-refused.ts'
import type { Session } from '../connection/driver.ts'
import { citus } from './citus.ts'
import { cockroachdb } from './cockroachdb.ts'
import type { Dialect, ServerFacts } from './dialect.ts'
import { postgresql, refuseOldPostgresql } from './postgresql.ts'
import { yugabytedb } from './yugabytedb.ts'

export const readServerFacts = async (session: Session): Promise<ServerFacts> => {
  const [[version]] = (await session.run('select version()')) as [[string]]
  const settings = new Map(
    (await session.run(
      `select name, setting from pg_settings where name in ('server_version', 'server_version_num', 'server_encoding', 'fsync', 'data_checksums')`,
    )) as [string, string][],
  )
  const [extension] = await session.run(`select extversion from pg_extension where extname = 'citus'`)
  return {
    version,
    number: settings.get('server_version') ?? '',
    numeric: Number(settings.get('server_version_num') ?? 0),
    encoding: settings.get('server_encoding') ?? '',
    fsync: settings.get('fsync'),
    dataChecksums: /-YB-|CockroachDB/.test(version) ? undefined : settings.get('data_checksums'),
    citus: extension?.[0] ?? undefined,
  }
}

/** Refuses a server that the engine does not work on. */
export const detectDialect = (facts: ServerFacts, statementMsMax: number): Dialect => {
  if (facts.encoding.replace('-', '').toUpperCase() !== 'UTF8') {
    throw new StoreRefused(`the database has the encoding ${facts.encoding}; make one with encoding UTF8`)
  }
  const base = postgresql(facts, statementMsMax)
  // These two report a PostgreSQL version too, which says nothing about what they can do.
  const own = cockroachdb(facts, base) ?? yugabytedb(facts, base)
  if (own !== undefined) return own
  refuseOldPostgresql(facts)
  return citus(facts, base) ?? base
}
