/** Progress of a long command, for the line that shows it. */
export interface StepNotes {
  /** A step begins, which may block the thread. `writes`: about how many bytes it writes. `unit`: what `rows` counts. */
  step?(name: string, writes?: number, unit?: 'record' | 'byte'): void
  /** The rows, or the bytes, of the step that are done. `fraction`: the part of all, from 0 to 1, if it is known. */
  rows?(count: number, fraction?: number): void
}

/** Additional results of a check, apart from its findings. */
export interface CheckNotes extends StepNotes {
  /** Called with the id of each table that has a finding, if it is known. */
  table?(tableId: number): void
  /**
   * Called once, at the end, with the number of rows that have no checksum yet. Only an engine that stores checksums calls it.
   */
  uncheckedRows?(count: number): void
  /**
   * Called for each table or index in the database that is not of Cubby, and does no harm. Only an engine with a database of
   * its own calls it.
   */
  foreign?(description: string): void
}

export interface Maintenance {
  /** Removes at most `rowsMax` expired rows, after the grace period (`sweepGraceMs`). Returns how many it removed. */
  sweepExpired(nowMs: number, rowsMax: number): Promise<number>
  /**
   * The rows of one step of `sweepExpired`, if not `sweepRowsMax`. An engine in which a step has a high cost of its own sets
   * it.
   */
  readonly sweepStepRows?: number
  /**
   * Removes at most `rowsMax` rows of tables that can no longer be restored, after the same grace period. Returns 0 if there
   * is nothing left to do; any other result is not a count of rows.
   */
  purgeTables(nowMs: number, rowsMax: number): Promise<number>
  /**
   * Removes at most `rowsMax` rows of organizations that can no longer be restored, after the same grace period: first all that
   * they have, then their API keys, and at last their own rows. Returns 0 if there is nothing left to do, as `purgeTables`.
   */
  purgeOrganizations(nowMs: number, rowsMax: number): Promise<number>
  /**
   * One step that removes at most `rowsMax` idempotency keys: those that were kept for `idempotencyKeyMs`, after the same grace
   * period, and of an organization that has more than `keysMax` (default `idempotencyKeysMax`), or a user that has more than
   * `keysOfUserMax` (default `idempotencyKeysOfUserMax`), the oldest. Returns 0 if there is nothing left to do, as `purgeTables`.
   */
  sweepIdempotencyKeys(nowMs: number, rowsMax: number, keysMax?: number, keysOfUserMax?: number): Promise<number>
  /**
   * Removes at most `rowsMax` revocations of users that are older than `revocationMs`, after the same grace period. The store
   * keeps their highest epoch and their last time. Returns how many it removed.
   */
  sweepRevocations(nowMs: number, rowsMax: number): Promise<number>
  /**
   * One step that removes at most `rowsMax` entries of one log: those that are older than the table keeps them, after the same
   * grace period, and all of a log that was ended; but never the newest of those, so that a reader who has it can go on. The
   * order of commits counts: an entry is as old as any that was committed after it. Returns 0 if there is nothing left to do,
   * as `purgeTables`.
   */
  sweepChanges(nowMs: number, rowsMax: number): Promise<number>
  /** The changes in all logs, as the last complete round of `sweepChanges` found them. */
  readonly changesKept: number | undefined
  /**
   * Adds missing checksums in one commit that reads at most `rowsMax` rows. Returns how many rows it read; 0 if there is
   * nothing left to do. The store keeps the position. New rows are written with a checksum. An engine whose database has its
   * own checksums returns 0.
   */
  addChecksums(rowsMax: number): Promise<number>
  /** Yields one line per inconsistency; none if the store is sound. */
  check(notes?: CheckNotes): AsyncIterable<string>
}
