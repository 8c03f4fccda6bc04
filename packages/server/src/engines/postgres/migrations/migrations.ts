import type { Session } from '../connection/driver.ts'
import type { Dialect } from '../dialect.ts'
import { migrateTo2 } from './migration-2.ts'
import { migrateTo3 } from './migration-3.ts'
import { migrateTo4 } from './migration-4.ts'
import { migrateTo5 } from './migration-5.ts'
import { migrateTo6 } from './migration-6.ts'

/** Changes a store of the version before, rows and schema. */
interface Migration {
  /** The version after it. */
  to: number
  run(session: Session, dialect: Dialect): Promise<void>
}

/**
 * In order, the last one to `schemaVersion`. A migration is never changed after its release: it names tables and columns as
 * they were then, not by constants of the current schema.
 */
export const migrations: Migration[] = [
  { to: 2, run: migrateTo2 },
  { to: 3, run: migrateTo3 },
  { to: 4, run: migrateTo4 },
  { to: 5, run: migrateTo5 },
  { to: 6, run: migrateTo6 },
]
