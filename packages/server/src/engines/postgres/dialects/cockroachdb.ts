import type { Dialect, ServerFacts } from './dialect.ts'

/** CockroachDB is serializable: the guard of a write is exact by itself, and transactions are retried. */
export const cockroachdb = (facts: ServerFacts, base: Dialect): Dialect | undefined => {
  const version = /^CockroachDB \S+ v([0-9.]+)/.exec(facts.version)?.[1]
  if (version === undefined) return undefined
  return {
    ...base,
    description: `cockroachdb ${version}`,
    // It has none of PostgreSQL's planner settings.
    planning: [],
    isolation: 'serializable',
    // Its text type sorts by bytes.
    nameType: 'text',
    // The table is stored in the order of its primary key.
    addsPrimaryKeyLast: false,
    // A schema change in a transaction runs after the commit, and may fail then.
    hasTransactionalDdl: false,
    // Advisory locks are accepted and do nothing.
    hasAdvisoryLocks: false,
    hasBackendIds: false,
    listsWriters: false,
    pipelinesAreTransactions: false,
    putsFromArrays: false,
  }
}
