import { OperatorError } from '../../../core/operator-error.ts'
import { type BaseInfo, isBefore, type Position } from './archive-files.ts'
import type { BlockMeta } from './block.ts'
import { blockMetas, type KnownRun, requireNext, segmentPaths } from './catalogue.ts'

// Which base and which commits a restore to a time needs. A commit is restored if it began before the time.

export interface Target {
  run: KnownRun
  base: BaseInfo & { number: number }
  /** The last commit of the restored store. */
  position: Position
}

export const showTime = (ms: number): string => new Date(ms).toISOString()

export const findTarget = (runs: readonly KnownRun[], atMs: number): Target => {
  const run = findRun(runs, atMs)
  for (const base of run.bases.toReversed()) {
    if (base.usableFromMs > atMs) continue
    const position = findPosition(run, base, atMs)
    if (!isBefore(position, base.end)) return { run, base, position }
  }
  throw tooEarly(atMs, run)
}

const refusal = (atMs: number, why: string): OperatorError => new OperatorError(`--at ${showTime(atMs)} ${why}`)

const tooEarly = (atMs: number, run: KnownRun): OperatorError =>
  refusal(atMs, `is before the first base; the first time that can be restored is ${showTime(firstMs(run))}`)

const firstMs = (run: KnownRun): number => run.bases[0]!.usableFromMs

/** The run that covers the time. Otherwise the message says why there is none, and which times are nearest. */
export const findRun = (runs: readonly KnownRun[], atMs: number): KnownRun => {
  const usable = runs.filter(({ bases }) => bases.length > 0)
  if (usable.length === 0) throw new OperatorError('the archive has no complete base yet: nothing can be restored')
  const covering = usable.filter((run) => firstMs(run) <= atMs && atMs <= run.coveredMs)
  if (covering.length > 1) throw twice(atMs)
  if (covering.length === 1) return covering[0]!
  const before = usable.findLast(({ coveredMs }) => coveredMs < atMs)
  const after = usable.find((run) => firstMs(run) > atMs)
  if (before === undefined) throw tooEarly(atMs, after!)
  if (after === undefined) {
    const end = showTime(before.coveredMs)
    throw refusal(atMs, `is after the end of the archive; the last time that can be restored is ${end}`)
  }
  const [from, to] = [showTime(before.coveredMs), showTime(firstMs(after))]
  const cause = before.end?.reason ?? after.start?.reason ?? 'not known'
  throw refusal(atMs, `is in a gap of the archive (${cause}); restore at ${from} or earlier, or at ${to} or later`)
}

const twice = (atMs: number): OperatorError =>
  refusal(atMs, 'was twice: the clock of the server was set back; give a time before or after that')

const findPosition = (run: KnownRun, base: BaseInfo, atMs: number): Position => {
  let position: Position = { generation: 0, frame: 0 }
  let isPast = false
  let last: BlockMeta | undefined
  for (const path of segmentPaths(run, base.firstSegment)) {
    for (const { meta } of blockMetas(path)) {
      requireNext(path, last, meta)
      last = meta
      const [fromMs, toMs] = meta.unsure ?? [0, 0]
      if (fromMs < atMs && atMs <= toMs) throw unsure(atMs, fromMs, toMs)
      for (const [frame, beganMs] of meta.commits) {
        // A commit that began before a commit ahead of it: the clock was set back in between.
        if (beganMs < atMs && isPast) throw twice(atMs)
        if (beganMs < atMs) position = { generation: meta.generation, frame }
        else isPast = true
      }
    }
  }
  return position
}

const unsure = (atMs: number, fromMs: number, toMs: number): OperatorError =>
  refusal(
    atMs,
    `is within the last moments before a crash, of which the times are lost; restore at ${showTime(fromMs)} or earlier, or after ${showTime(toMs)}`,
  )
