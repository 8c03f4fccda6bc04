import { StoreRefused } from '../../../core/store-refused.ts'
import type { Session } from '../connection/driver.ts'
import { citus } from './citus.ts'
import { cockroachdb } from './cockroachdb.ts'
import { yugabytedb } from './yugabytedb.ts'

/** In what the engines that speak PostgreSQL's protocol differ. Each that is not PostgreSQL has a file of its own. */
export interface Dialect {
  /** For the start-up line: `postgres 18.4`. */
  description: string
  /** Settings of every session. */
  settings: string[]
  /** Settings that keep the planner to the plans we mean. */
  planning: string[]
  /** What transactions run at. */
  isolation: 'read committed' | 'serializable'
  /** The type of names: they sort by bytes. */
  nameType: string
  /**
   * PostgreSQL's planner takes the youngest of indexes that seem alike. In an empty store the primary key and the
   * index by time do so to a get, and a plan made then is kept: so the primary key is made last.
   */
  addsPrimaryKeyLast: boolean
  /** SQL before the tables are made, and behind it in the same transaction. */
  beforeSchema: string[]
  afterSchema: string[]
  /** Whether every session has a process id of its own, for as long as it lasts. */
  hasBackendIds: boolean
  /** Whether transactions can take a lock that has a name, for the set-up. */
  hasNamedLocks: boolean
  /** Whether all statements before one Sync are one transaction; otherwise BEGIN and COMMIT go with them. */
  pipelinesAreTransactions: boolean
  /** Whether a write statement looks for itself whether its key and table are active. */
  guardsWrites: boolean
  /** Whether a batch of puts goes as one statement over arrays. */
  putsFromArrays: boolean
  /** Whether `pg_locks` tells who is writing, so that a revocation can wait for them. */
  listsWriters: boolean
  /** Whether one statement may be about the records of many tables, to remove expired ones or to look for strays. */
  namesManyTables: boolean
}

/** What the server says of itself. */
export interface ServerFacts {
  /** All of `version()`. */
  version: string
  /** `server_version`: 18.4. */
  number: string
  /** `server_version_num`: 180004. */
  numeric: number
  encoding: string
  /** Undefined where there is no such setting. */
  fsync: string | undefined
  /** Undefined too where PostgreSQL's files are not what records are kept in. */
  dataChecksums?: string | undefined
  citus: string | undefined
}

const oldestNumeric = 150_000

// Plans are made once and never by statistics: every statement of ours is meant as a walk of one index, and a
// planner that has not seen a table yet, or saw it small, must not think otherwise. Just-in-time compilation
// would only add to statements that take microseconds.
const planning = [
  'set plan_cache_mode = force_generic_plan',
  ...['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin'].map((way) => `set enable_${way} = off`),
  'set jit = off',
]

const sessionSettings = (statementMsMax: number): string[] => [
  "set client_encoding = 'UTF8'",
  "set bytea_output = 'hex'",
  // The operator may have it off for the sake of other applications; we answer after the sync.
  'set synchronous_commit = on',
  `set statement_timeout = ${statementMsMax}`,
  // A process that was stopped in the middle of a transaction must not keep its locks.
  `set idle_in_transaction_session_timeout = ${statementMsMax}`,
  'set default_transaction_read_only = off',
]

export const readFacts = async (session: Session): Promise<ServerFacts> => {
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

export const dialectOf = (facts: ServerFacts, statementMsMax: number): Dialect => {
  const base: Dialect = {
    description: `postgres ${facts.number.split(' ')[0]}`,
    settings: sessionSettings(statementMsMax),
    planning,
    isolation: 'read committed',
    nameType: 'text collate "C"',
    beforeSchema: [],
    afterSchema: [],
    addsPrimaryKeyLast: true,
    hasBackendIds: true,
    hasNamedLocks: true,
    pipelinesAreTransactions: true,
    guardsWrites: true,
    putsFromArrays: true,
    listsWriters: true,
    namesManyTables: true,
  }
  if (facts.encoding.replace('-', '').toUpperCase() !== 'UTF8') {
    throw new StoreRefused(`the database has the encoding ${facts.encoding}; make one with encoding UTF8`)
  }
  const own = cockroachdb(facts, base) ?? yugabytedb(facts, base)
  if (own !== undefined) return own
  if (facts.numeric < oldestNumeric) {
    throw new StoreRefused(`the server is PostgreSQL ${facts.number}; the oldest supported version is 15`)
  }
  return citus(facts, base) ?? base
}

/** All that a session is told before its first statement; its last row says whether it may write. */
export const openingOf = ({ settings, isolation, planning }: Dialect): string =>
  [
    ...settings,
    `set default_transaction_isolation = '${isolation}'`,
    ...planning,
    `select current_setting('transaction_read_only')`,
  ].join('; ')
