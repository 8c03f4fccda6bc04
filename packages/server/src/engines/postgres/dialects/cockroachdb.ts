import type { Dialect, ServerFacts } from './dialect.ts'

/** CockroachDB: serializable, so that the guard of a write is exact by itself, and transactions are tried again. */
export const cockroachdb = (facts: ServerFacts, base: Dialect): Dialect | undefined => {
  const version = /^CockroachDB \S+ v([0-9.]+)/.exec(facts.version)?.[1]
  if (version === undefined) return undefined
  return {
    ...base,
    description: `cockroachdb ${version}`,
    // It knows none of PostgreSQL's planner settings.
    planning: [],
    isolation: 'serializable',
    // Its text sorts by bytes as it is.
    nameType: 'text',
    // The table is stored in the order of its primary key.
    addsPrimaryKeyLast: false,
    // Advisory locks are accepted and do nothing.
    hasNamedLocks: false,
    hasBackendIds: false,
    listsWriters: false,
    pipelinesAreTransactions: false,
    putsFromArrays: false,
  }
}
