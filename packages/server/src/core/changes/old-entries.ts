import type { Awaitable } from '../awaitable.ts'
import { sweepGraceMs } from '../limits.ts'

const hourMs = 60 * 60 * 1000

export interface LogEnds {
  first: { seq: number; atMs: number }
  last: { seq: number }
  /** Null if the log was ended. */
  keepHours: number | null
}

/**
 * The number of an entry that is old enough to be removed, the last one that the search finds: all before it may be removed, and
 * it stays, so that a reader who has it can go on. Undefined if nothing may be removed.
 *
 * An entry is as old as any that was committed after it, whatever its own time says. So a clock that was wrong keeps entries
 * longer, and never removes one too early.
 */
export const oldestKeptSeq = async (
  { first, last, keepHours }: LogEnds,
  nowMs: number,
  timeOf: (seq: number) => Awaitable<number | undefined>,
): Promise<number | undefined> => {
  if (first.seq >= last.seq) return undefined
  if (keepHours === null) return last.seq
  const oldMs = nowMs - keepHours * hourMs - sweepGraceMs
  if (first.atMs > oldMs && first.atMs <= nowMs) return undefined
  const search = async (isPassed: (atMs: number) => boolean): Promise<number | undefined> => {
    let old: number | undefined
    for (let low = first.seq, high = last.seq; low <= high; ) {
      const middle = Math.floor((low + high) / 2)
      const atMs = (await timeOf(middle)) ?? Number.POSITIVE_INFINITY
      if (atMs <= oldMs) old = middle
      if (atMs <= oldMs || isPassed(atMs)) low = middle + 1
      else high = middle - 1
    }
    return old === undefined || old === first.seq ? undefined : old
  }
  // The time of an entry that is ahead of now says nothing about those after it.
  return (await search((atMs) => atMs > nowMs)) ?? search(() => false)
}
