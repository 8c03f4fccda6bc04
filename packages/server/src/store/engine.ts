import type { Awaitable } from '../core/awaitable.ts'
import type { CursorSeal } from '../core/cursor-seal.ts'
import type { ApiKeys } from './api-keys.ts'
import type { Maintenance } from './maintenance.ts'
import type { Organizations } from './organizations.ts'
import type { Records } from './records.ts'
import type { Tables } from './tables.ts'
import type { Transfer } from './transfer.ts'
import type { WorkerChannel } from './worker-channel.ts'

/**
 * A store. Each engine passes the suite in `test/engine-conformance.ts`.
 *
 * Order is bytes: record keys and encoded index values compare by their UTF-8 bytes, and rows equal in an
 * index by their ids, which are given in creation order. Every write is durable when its promise resolves and
 * visible to every read that starts after that; a batch is seen whole or not at all. What is read of keys and
 * tables is never stale in effect: from the moment a revocation or a deletion resolves, no read finds the key
 * or table active and no write of theirs is applied, in any process on the store.
 *
 * Methods that write throw CubbyError `unavailable`, `storage_full` or `store_damaged` when nothing was applied,
 * `outcome_unknown` when that cannot be known, `revoked_api_key` or `table_not_found` when the caller's key
 * or the table is gone by the time of the write.
 */
export interface Engine {
  /** For the start-up line: `sqlite 3.53.4`. */
  readonly description: string
  readonly organizations: Organizations
  readonly apiKeys: ApiKeys
  readonly tables: Tables
  readonly records: Records
  readonly maintenance: Maintenance
  readonly transfer: Transfer
  /**
   * Made of the store's cursor key, which is the same in every process, after a restart and in a copy. `transfer.load` can
   * replace it.
   */
  readonly cursorSeal: CursorSeal
  /** Whether the store can serve just now. */
  ready(): Awaitable<boolean>
  /**
   * The owner's end of a channel to a worker, which writes through this engine. Undefined on an engine whose workers
   * write by themselves.
   */
  serveWorker?(channel: WorkerChannel): void
  close(): Promise<void>
}
