import type { Awaitable } from '../awaitable.ts'
import { sweepGraceMs } from '../limits.ts'

const hourMs = 60 * 60 * 1000

export interface LogEnds {
  first: { seq: number; atMs: number }
  last: { seq: number }
  /** Null if the log was ended. */
  keepHours: number | null
}

/** The times of the entries of a log. */
export interface LogTimes {
  timeOf(seq: number): Awaitable<number | undefined>
  /** The first entry from `fromSeq` on and before `toSeq` whose time is after `afterMs`, and `untilMs` at the latest. */
  firstBetween(fromSeq: number, toSeq: number, afterMs: number, untilMs: number): Awaitable<number | undefined>
}

/**
 * The number of an entry before which at most `entriesMax` entries are old enough to be removed: all before it may be removed, and
 * it stays, so that a reader who has it can go on. Undefined if nothing may be removed.
 *
 * Times are not in order if a clock was wrong, or is distrusted: see holding-clock.ts. An entry that is old by its own time may
 * have been written while the clock was behind, so it says nothing about those before it: each is removed only if it is old
 * itself, or ahead of now and before one that is old. So a clock that was wrong keeps entries longer, and removes none too
 * early but those that it has written while it was behind.
 */
export const oldestKeptSeq = async (
  { first, last, keepHours }: LogEnds,
  nowMs: number,
  entriesMax: number,
  { timeOf, firstBetween }: LogTimes,
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
  const old = (await search((atMs) => atMs > nowMs)) ?? (await search(() => false))
  if (old === undefined) return undefined
  const toSeq = Math.min(old, first.seq + entriesMax)
  const young = await firstBetween(first.seq, toSeq, oldMs, nowMs)
  if (young === undefined) return toSeq
  return young - 1 > first.seq ? young - 1 : undefined
}
