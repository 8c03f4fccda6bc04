import { StoreRefused } from '../../../core/store-refused.ts'
import type { Dialect, ServerFacts } from './dialect.ts'

/** Versions whose partial indexes lose entries on INSERT … ON CONFLICT; both ends included. */
const corrupting = [
  ['2024.2.0', '2024.2.7.2'],
  ['2025.1.0', '2025.1.3.0'],
  ['2025.2.0', '2025.2.0'],
] as const

const compare = (a: string, b: string): number => {
  const [x, y] = [a.split('.').map(Number), b.split('.').map(Number)]
  // A part that is not written counts as every value: 2025.2.0.1 is a 2025.2.0.
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i]! - y[i]!
  return 0
}

/** YugabyteDB: PostgreSQL's own code on a store that splits tables by itself, if they are ordered. */
export const yugabytedb = (facts: ServerFacts, base: Dialect): Dialect | undefined => {
  const version = /-YB-([0-9]+(?:\.[0-9]+)*)/.exec(facts.version)?.[1]
  if (version === undefined) return undefined
  if (corrupting.some(([first, last]) => compare(version, first) >= 0 && compare(version, last) <= 0)) {
    throw new StoreRefused(`YugabyteDB ${version} loses entries of partial indexes; run a version with that mended`)
  }
  return {
    ...base,
    description: `yugabytedb ${version}`,
    // Keys are to be split by range. By hash, all of one Cubby table would be one tablet for ever.
    beforeSchema: ['set yb_use_hash_splitting_by_default = off'],
    // Its row locks are not in pg_locks in full.
    listsWriters: false,
    // The table is stored in the order of its primary key.
    addsPrimaryKeyLast: false,
    hasNamedLocks: false,
    // Its own pooler may share processes, and takes care of settings and statements.
    hasBackendIds: false,
    // Its own repeats of a statement end at the transaction's bounds: these are said aloud.
    pipelinesAreTransactions: false,
  }
}
