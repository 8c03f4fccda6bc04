import { StoreRefused } from '../../../core/store-refused.ts'
import type { Dialect, ServerFacts } from './dialect.ts'

const oldestNumeric = 150_000

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
]

/** PostgreSQL itself. The other dialects start from it. */
export const postgresql = (facts: ServerFacts, statementMsMax: number): Dialect => ({
  description: `postgres ${facts.number.split(' ')[0]}`,
  settings: sessionSettings(statementMsMax),
  planning,
  isolation: 'read committed',
  nameType: 'text collate "C"',
  beforeSchema: [],
  afterSchema: [],
  hasTransactionalDdl: true,
  distributesRecords: false,
  addsPrimaryKeyLast: true,
  hasBackendIds: true,
  hasAdvisoryLocks: true,
  pipelinesAreTransactions: true,
  guardsWrites: true,
  putsFromArrays: true,
  listsWriters: true,
  namesManyTables: true,
})

export const refuseOldPostgresql = ({ number, numeric }: ServerFacts): void => {
  if (numeric < oldestNumeric) {
    throw new StoreRefused(`the server is PostgreSQL ${number}; the oldest supported version is 15`)
  }
}
