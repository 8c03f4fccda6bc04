import type { Awaitable } from '../core/awaitable.ts'
import type { ApiKeys } from './api-keys.ts'
import type { Changes } from './changes.ts'
import type { Files } from './files.ts'
import type { IdempotencyKeys } from './idempotency.ts'
import type { Maintenance } from './maintenance.ts'
import type { ArchiveState, Measures } from './measures.ts'
import type { Organizations } from './organizations.ts'
import type { Records } from './records.ts'
import type { Runs } from './runs.ts'
import type { Secrets } from './secrets.ts'
import type { Statistics } from './statistics.ts'
import type { Buckets, Tables } from './tables.ts'
import type { Tasks } from './tasks.ts'
import type { Transfer } from './transfer.ts'
import type { Users } from './users.ts'

/** Messages between the owner process and one worker. Only the engine knows their content. */
export interface WorkerChannel<Out = unknown, In = unknown> {
  send(message: Out): void
  onMessage(receive: (message: In) => void): void
  onClose(closed: () => void): void
}

/**
 * A store. Each engine passes the suite in `test/engine-conformance.ts`.
 *
 * Record keys and encoded index values are ordered by their UTF-8 bytes. Rows that are equal in an index are ordered by
 * their ids, which increase in creation order. A write is durable when its promise resolves, and every read that starts
 * after that sees it; readers see all of a batch or nothing of it. A revocation or a deletion takes effect when it
 * resolves, in every process on the store: after that no read finds the key or table active, and no write with them is
 * applied.
 *
 * Methods that write throw CubbyError. `unavailable`, `storage_full`, `store_damaged`: nothing was applied.
 * `outcome_unknown`: the write may or may not have been applied. `revoked_api_key`, `table_not_found`, `bucket_not_found`,
 * `task_not_found`: the caller's key was revoked, or the table, bucket or task was deleted, before the write.
 * `invalid_api_key`: the caller's organization was deleted. `revoked_token`, `expired_token`: the caller's user token is
 * `revoked` or `forgotten` (`TokenState` in store/users.ts).
 */
export interface Engine {
  /** The start-up line shows it: `sqlite 3.53.4`. */
  readonly description: string
  /** The number of reads that run at the same time; 1 if they run in the calling thread. */
  readonly readsAtOnce: number
  readonly organizations: Organizations
  readonly apiKeys: ApiKeys
  readonly tables: Tables
  readonly buckets: Buckets
  /** The records of tables, and the files of buckets, to read them. */
  readonly records: Records
  readonly changes: Changes
  readonly files: Files
  readonly tasks: Tasks
  readonly runs: Runs
  readonly idempotencyKeys: IdempotencyKeys
  readonly maintenance: Maintenance
  readonly transfer: Transfer
  readonly statistics: Statistics
  readonly measures: Measures
  readonly secrets: Secrets
  readonly users: Users
  /** The state of its archive; undefined if it has none, and in every process but the owner of the store. */
  readonly archiveState?: ArchiveState | undefined
  /** Tells whether the store can serve requests now. */
  ready(): Awaitable<boolean>
  /**
   * Serves the owner's end of a channel to a worker, which writes through this engine. Undefined if the engine's workers
   * write directly.
   */
  serveWorker?(channel: WorkerChannel): void
  /** Tells an engine with one owner at a time the port of this process: a process that finds the store taken names it. */
  noteListening?(port: number): void
  close(): Promise<void>
}
