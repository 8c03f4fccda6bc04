import type { Indices } from '../transport/wire.ts'
import type { ChangesRequest } from '../transport/wire-changes.ts'
import type { TableQuery } from './typed-table.ts'

export interface ChangesOptions extends Pick<ChangesRequest, 'cursor' | 'from' | 'hash' | 'select'> {
  /** Ends the loop and closes the connection. */
  signal?: AbortSignal
}

/** The changes of a table, one after another. Without `break`, an error or the signal the loop never ends. */
export interface Changes<Item> extends AsyncIterable<Item, void> {
  /**
   * The place to go on from. Everything before it has been handled: it moves on when the loop asks for the next item, and while the
   * table is quiet. Null until the server has named one.
   */
  readonly cursor: string | null
}

/** A query of any form. */
export type WatchQuery<Data, I extends Indices> = TableQuery<Data, I> & { select?: never; cursor?: never }

/** What is different from the result before. Records are compared by their `updatedAt`. */
export interface WatchDifference<Item> {
  added: Item[]
  changed: Item[]
  /** As they were last. They were deleted, have expired or belong to the result no longer. */
  removed: Item[]
}

export interface WatchOptions<Item> {
  /**
   * Called with the first result and with each that differs from the last one, one call at a time: a promise that it returns is
   * awaited. If it throws, the watch ends and rejects with that error.
   */
  onChange: (items: Item[], difference: WatchDifference<Item>) => unknown
  /** Ends the watch. */
  signal?: AbortSignal
}
