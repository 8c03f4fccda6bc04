import {
  type BaseInfo,
  basesOf,
  pathsOf,
  pathsOfRun,
  readJson,
  runsOf,
  segmentPath,
  segmentsOf,
} from './archive-files.ts'

/** A base, for the decision what is dropped. */
export interface KnownBase {
  run: number
  number: number
  firstSegment: number
  usableFromMs: number
}

/**
 * The oldest base that is needed to restore every time from `sinceMs` on: the newest one that is usable from then or earlier.
 * Undefined if all are needed. `bases` are in order.
 */
export const oldestNeeded = (bases: readonly KnownBase[], sinceMs: number): KnownBase | undefined =>
  bases.findLast((base) => base.usableFromMs <= sinceMs)

/** The paths that no restore to `sinceMs` or later needs. Descriptions of bases come before their copies. */
export const dropOld = (dir: string, sinceMs: number): string[] => {
  const runs = runsOf(dir).map((run) => ({ run, runDir: pathsOf(dir).run(run) }))
  const bases = runs.flatMap(({ run, runDir }) =>
    basesOf(runDir).map((number): KnownBase => {
      const { firstSegment, usableFromMs } = readJson<BaseInfo>(pathsOfRun(runDir).baseInfo(number))!
      return { run, number, firstSegment, usableFromMs }
    }),
  )
  const oldest = oldestNeeded(bases, sinceMs)
  if (oldest === undefined) return []
  const dropped: string[] = []
  for (const { run, runDir } of runs) {
    if (run < oldest.run) dropped.push(runDir)
    if (run !== oldest.run) continue
    const paths = pathsOfRun(runDir)
    for (const number of basesOf(runDir)) {
      if (number < oldest.number) dropped.push(paths.baseInfo(number), paths.base(number))
    }
    for (const number of segmentsOf(runDir)) {
      if (number < oldest.firstSegment) dropped.push(segmentPath(runDir, number)!)
    }
  }
  return dropped
}
