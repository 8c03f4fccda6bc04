/** How the archive of a store is doing, for the log and for metrics. It is updated about four times a second. */
export interface ArchiveState {
  /** Every write that was answered before this time (epoch milliseconds) is in the archive, or in a gap before it. */
  coveredMs: number
  /** Since when the archive fails; null while it works. */
  failingSinceMs: number | null
  /** Why it fails. */
  cause: string | null
  /** Why the base that is due cannot be made; null if none is due. The commits are archived nevertheless. */
  baseCause: string | null
  /** The number of the chain of segments that is being written. */
  run: number
  /** Since the start of the server: how often a gap began, bases that were completed, frames and bytes that were archived. */
  gaps: number
  bases: number
  framesArchived: number
  bytesArchived: number
}
