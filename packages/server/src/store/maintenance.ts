/** What a check tells beside its findings. */
export interface CheckNotes {
  /** The id of each table that a finding concerns, as far as that can be known. */
  table?(tableId: number): void
  /** Once, at the end: how many rows have no checksum yet. Only from an engine that keeps checksums. */
  uncheckedRows?(count: number): void
}

export interface Maintenance {
  /** Removes rows past their ttl by the grace, at most `rowsMax`; how many it removed. */
  sweepExpired(nowMs: number, rowsMax: number): Promise<number>
  /** Removes rows of tables past their recovery by the grace, at most `rowsMax`; 0 when there is nothing left to do, and not a count of rows. */
  purgeTables(nowMs: number, rowsMax: number): Promise<number>
  /**
   * Gives rows without a checksum theirs, in one commit that looks at `rowsMax` rows at most; how many it looked at, 0 when
   * there is nothing left to do. The position is kept in the store. Rows written since have theirs already.
   * An engine whose database has checksums of its own answers 0.
   */
  addChecksums(rowsMax: number): Promise<number>
  /** Every inconsistency found, a line each; empty when all is well. */
  check(notes?: CheckNotes): AsyncIterable<string>
}
