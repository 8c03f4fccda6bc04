import { StoreRefused } from '../../core/store-refused.ts'
import type { Session } from './connection/driver.ts'

// PostgreSQL and Citus speak one protocol, and differ in a few ways. Which of them is there is detected, not configured.

export interface Dialect {
  /** The start-up line shows it: `postgres 18.4`. */
  description: string
  /** Settings of every session. */
  settings: string[]
  /** Settings that keep the planner to index scans. */
  planning: string[]
  /** This SQL runs after the tables are created, in the same transaction. */
  afterSchema: string[]
  /** Records are spread over other servers, so that not every DDL statement is possible on their table. */
  distributesRecords: boolean
  /** All statements before one Sync are one transaction. If not, BEGIN and COMMIT are sent with them. */
  pipelinesAreTransactions: boolean
  /** A write statement itself checks that its API key and table are active. */
  guardsWrites: boolean
  /** A batch of puts is sent as one statement with arrays. */
  putsFromArrays: boolean
  /** One statement may touch the records of many tables, to remove expired ones or to find stray ones. */
  namesManyTables: boolean
}

/** Facts that the server reports about itself. */
export interface ServerFacts {
  /** The whole text of `version()`. */
  version: string
  /** `server_version`: 18.4. */
  number: string
  /** `server_version_num`: 180004. */
  numeric: number
  encoding: string
  fsync: string | undefined
  dataChecksums?: string | undefined
  citus: string | undefined
}

/** These servers speak the protocol too, and report a PostgreSQL version, which says nothing about what they can do. */
const unsupported = [
  ['CockroachDB', /CockroachDB/i],
  ['YugabyteDB', /-YB-|Yugabyte/i],
] as const

const oldestNumeric = 150_000

export const readServerFacts = async (session: Session): Promise<ServerFacts> => {
  const [[version]] = (await session.run('select version()')) as [[string]]
  const other = unsupported.find(([, pattern]) => pattern.test(version))
  if (other !== undefined) {
    throw new StoreRefused(`the server is ${other[0]}; only PostgreSQL and Citus are supported`)
  }
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
    dataChecksums: settings.get('data_checksums'),
    citus: extension?.[0] ?? undefined,
  }
}

/** Refuses a server that the engine does not work on. */
export const detectDialect = (facts: ServerFacts, statementMsMax: number): Dialect => {
  const { encoding, number, numeric } = facts
  if (encoding.replace('-', '').toUpperCase() !== 'UTF8') {
    throw new StoreRefused(`the database has the encoding ${encoding}; make one with encoding UTF8`)
  }
  if (numeric < oldestNumeric) {
    throw new StoreRefused(`the server is PostgreSQL ${number}; the oldest supported version is 15`)
  }
  const base = postgresql(number, statementMsMax)
  return facts.citus === undefined ? base : citus(facts.citus, base)
}

// Every statement of ours is meant as a scan of one index. Plans are made once and do not depend on statistics: a
// planner that has not seen a table yet, or saw it small, must not choose otherwise. JIT compilation would only add
// time to statements that take microseconds.
const planning = [
  'set plan_cache_mode = force_generic_plan',
  ...['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin'].map((method) => `set enable_${method} = off`),
  'set jit = off',
]

const sessionSettings = (statementMsMax: number): string[] => [
  "set client_encoding = 'UTF8'",
  "set bytea_output = 'hex'",
  // The operator may have it off for other applications. We answer after the sync.
  'set synchronous_commit = on',
  `set statement_timeout = ${statementMsMax}`,
  // A process that was stopped in the middle of a transaction must not keep its locks.
  `set idle_in_transaction_session_timeout = ${statementMsMax}`,
  'set default_transaction_read_only = off',
  "set default_transaction_isolation = 'read committed'",
]

const postgresql = (number: string, statementMsMax: number): Dialect => ({
  description: `postgres ${number.split(' ')[0]}`,
  settings: sessionSettings(statementMsMax),
  planning,
  afterSchema: [],
  distributesRecords: false,
  pipelinesAreTransactions: true,
  guardsWrites: true,
  putsFromArrays: true,
  namesManyTables: true,
})

/**
 * Citus distributes records, blobs and logs over the workers by table id, runs by the id of their task, and idempotency keys by what
 * they belong to; the registry, with the declarations of tasks, stays on the coordinator. All records of one table are on one worker, and a statement that names one
 * table goes to that worker only. Such a statement cannot also name a table of the registry.
 * test/engine-postgres-citus.test.ts checks every statement for this.
 */
const citus = (version: string, base: Dialect): Dialect => ({
  ...base,
  description: `citus ${version} on ${base.description}`,
  // The registry is in plain tables: with reference tables, Citus rejects an INSERT of ours that returns a subquery.
  afterSchema: [
    `select create_distributed_table('cubby_record_8', 'table_id')`,
    // A blob is on the worker of its file's record: both are written in one transaction.
    `select create_distributed_table('cubby_blob_8', 'table_id', colocate_with => 'cubby_record_8')`,
    `select create_distributed_table('cubby_run_8', 'task_id')`,
    `select create_distributed_table('cubby_idempotency_key', 'scope_id', colocate_with => 'cubby_record_8')`,
    // A write, its entry in the log and the log's counter are one transaction on one worker.
    `select create_distributed_table('cubby_feed', 'table_id', colocate_with => 'cubby_record_8')`,
    `select create_distributed_table('cubby_change', 'table_id', colocate_with => 'cubby_record_8')`,
  ],
  distributesRecords: true,
  // Only the values tell which worker a statement goes to: Citus rejects a generic plan.
  planning: base.planning.map((setting) => setting.replace('force_generic_plan', 'force_custom_plan')),
  // The coordinator sends BEGIN to a worker only if it got one itself.
  pipelinesAreTransactions: false,
  // A write cannot read the registry, which is on the coordinator, and INSERT … SELECT would go through the
  // coordinator row by row. Plain VALUES go straight to the worker. Without the guard, only the lease keeps a revoked
  // key out.
  guardsWrites: false,
  putsFromArrays: false,
  namesManyTables: false,
})

/** The first SQL of every session. Its last row says whether the session may write. */
export const openingOf = ({ settings, planning }: Dialect): string =>
  [...settings, ...planning, `select current_setting('transaction_read_only')`].join('; ')
