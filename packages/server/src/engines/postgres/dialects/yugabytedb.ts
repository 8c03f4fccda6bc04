import { StoreRefused } from '../../../core/store-refused.ts'
import type { Dialect, ServerFacts } from './dialect.ts'

/** Versions whose partial indexes lose entries on INSERT … ON CONFLICT, first and last included. */
const corrupting = [
  ['2024.2.0', '2024.2.7.2'],
  ['2025.1.0', '2025.1.3.0'],
  ['2025.2.0', '2025.2.0'],
] as const

const compare = (a: string, b: string): number => {
  const [x, y] = [a.split('.').map(Number), b.split('.').map(Number)]
  // A missing part matches every value: 2025.2.0.1 is a 2025.2.0.
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i]! - y[i]!
  return 0
}

/** YugabyteDB is PostgreSQL's own code on distributed storage, which splits tables that are ordered by range. */
export const yugabytedb = (facts: ServerFacts, base: Dialect): Dialect | undefined => {
  const version = /-YB-([0-9]+(?:\.[0-9]+)*)/.exec(facts.version)?.[1]
  if (version === undefined) return undefined
  if (corrupting.some(([first, last]) => compare(version, first) >= 0 && compare(version, last) <= 0)) {
    throw new StoreRefused(`YugabyteDB ${version} loses entries of partial indexes; run a version with the fix`)
  }
  return {
    ...base,
    description: `yugabytedb ${version}`,
    // Split keys by range. By hash, all records of one Cubby table would stay in one tablet.
    beforeSchema: ['set yb_use_hash_splitting_by_default = off'],
    // Its pg_locks does not list all row locks.
    listsWriters: false,
    // The table is stored in the order of its primary key.
    addsPrimaryKeyLast: false,
    // By default every DDL statement commits by itself, also between BEGIN and COMMIT.
    hasTransactionalDdl: false,
    hasAdvisoryLocks: false,
    // Its built-in pooler may share processes, and restores settings and prepared statements.
    hasBackendIds: false,
    // It retries the statements of a transaction by itself, so start and end of the transaction must be explicit.
    pipelinesAreTransactions: false,
  }
}
