import {
  baseCopiesOf,
  basesOf,
  pathsOf,
  pathsOfRun,
  readJson,
  runsOf,
  segmentPath,
  segmentsOf,
  shapes,
} from './archive-files.ts'

/** A base, for the decision what is dropped. */
interface KnownBase {
  run: number
  number: number
  firstSegment: number
  keptFromMs: number
}

/** Stamps of the clock that are this far ahead of it now are wrong. */
const aheadMsMax = 60_000

/**
 * The oldest base that is needed to restore every time from `sinceMs` on: the newest one before which nothing is as late as
 * that. Undefined if all are needed. `bases` are in order. A base that was made while the clock was behind is as late as the
 * one before it; one that was made while the clock was ahead says nothing.
 */
export const oldestNeeded = (bases: readonly KnownBase[], sinceMs: number, nowMs: number): KnownBase | undefined => {
  const right = bases.filter(({ keptFromMs }) => keptFromMs <= nowMs + aheadMsMax)
  const later = right.findIndex(({ keptFromMs }) => keptFromMs > sinceMs)
  return later === -1 ? right.at(-1) : right[later - 1]
}

/** The paths that no restore to `sinceMs` or later needs. Descriptions of bases come before their copies. */
export const dropOld = (dir: string, sinceMs: number, nowMs: number): string[] => {
  const runs = runsOf(dir).map((run) => ({ run, runDir: pathsOf(dir).run(run) }))
  const bases = runs.flatMap(({ run, runDir }) =>
    basesOf(runDir).flatMap((number): KnownBase[] => {
      try {
        const { firstSegment, keptFromMs } = readJson(pathsOfRun(runDir).baseInfo(number), shapes.base)!
        return [{ run, number, firstSegment, keptFromMs }]
      } catch {
        // A damaged description: no restore can use its base, and it goes with those that are older than the next.
        return []
      }
    }),
  )
  const oldest = oldestNeeded(bases, sinceMs, nowMs)
  if (oldest === undefined) return []
  const dropped: string[] = []
  for (const { run, runDir } of runs) {
    if (run < oldest.run) dropped.push(runDir)
    if (run !== oldest.run) continue
    const paths = pathsOfRun(runDir)
    for (const number of basesOf(runDir)) {
      if (number < oldest.number) dropped.push(paths.baseInfo(number))
    }
    for (const number of baseCopiesOf(runDir)) if (number < oldest.number) dropped.push(paths.base(number))
    for (const number of segmentsOf(runDir)) {
      if (number < oldest.firstSegment) dropped.push(segmentPath(runDir, number)!)
    }
  }
  return dropped
}
