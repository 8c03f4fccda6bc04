export interface Maintenance {
  /** Removes rows past their ttl by the grace, at most `rowsMax`; how many it removed. */
  sweepExpired(nowMs: number, rowsMax: number): Promise<number>
  /** Removes rows of tables past their recovery by the grace, at most `rowsMax`; 0 when there is nothing left to do, and not a count of rows. */
  purgeTables(nowMs: number, rowsMax: number): Promise<number>
  /**
   * Every inconsistency found, a line each; empty when all is well. `noteTable` is told of the id of each table that a
   * finding concerns, as far as that can be known.
   */
  check(noteTable?: (tableId: number) => void): AsyncIterable<string>
}
