import { statSync } from 'node:fs'
import { OperatorError } from '../../../core/operator-error.ts'
import type { ArchiveReport } from '../../../store/closed-store.ts'
import type { StepNotes } from '../../../store/maintenance.ts'
import { pathsOfRun, segmentPath } from './archive-files.ts'
import { type KnownRun, readArchive, wholeBlocks } from './catalogue.ts'
import { type Piece, passedOver, readPieces, type Stretch } from './history.ts'
import { readBase, showTime } from './restore-archive.ts'

/** Counts the bytes of bases and segments that have been read. */
const countBytes = (runs: readonly KnownRun[], notes: StepNotes): ((bytes: number) => void) => {
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const sizes = runs.flatMap(({ dir, bases, segments }) => [
    ...bases.map(({ bytes }) => bytes),
    ...segments.map((segment) => sizeOf(segmentPath(dir, segment) ?? '')),
  ])
  const all = sizes.reduce((sum, size) => sum + size, 0)
  let read = 0
  notes.step?.('checking the archive', undefined, 'byte')
  return (bytes) => {
    read += bytes
    notes.rows?.(read, read / Math.max(1, all))
  }
}

/** Reads the whole archive and compares everything with its digests. A server may write it meanwhile. */
export const verifyArchive = (dir: string, stepNotes: StepNotes): ArchiveReport => {
  const { runs, findings, notes } = readArchive(dir)
  const onBytes = countBytes(runs, stepNotes)
  const readBlocks = function* (runDir: string, segment: number) {
    let at = 0
    for (const block of wholeBlocks(runDir, segment)) {
      onBytes(block.end - at)
      at = block.end
      yield block
    }
  }
  for (const run of runs) {
    for (const base of run.bases) {
      try {
        readBase(run, base, (part) => onBytes(part.length))
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error
        findings.push(error.message)
      }
    }
  }
  const pieces = runs.flatMap((run) => readPieces(run, 0, readBlocks))
  for (const { broken, stretches } of pieces) {
    if (broken === undefined) continue
    if (!broken.isCopy) findings.push(broken.message)
    else {
      const last = stretches.findLast(isUsable)
      const reach = last === undefined ? 'nothing of it can be restored' : `it reaches until ${showTime(last.toMs)}`
      notes.push(`${broken.message}, as in a copy that was made while the server wrote: ${reach}`)
    }
  }
  for (const run of runs) {
    const ofRun = pieces.filter((piece) => piece.run === run)
    if (ofRun.some(({ broken }) => broken !== undefined)) continue
    for (const base of run.bases.filter((one) => !ofRun.some(({ bases }) => bases.includes(one)))) {
      findings.push(`${pathsOfRun(run.dir).baseInfo(base.number)} is not of this run`)
    }
  }
  const usable = pieces.filter(({ stretches }) => stretches.some(isUsable))
  const isPassed = new Set(passedOver(usable.flatMap(({ stretches }) => stretches)).map(({ stretch }) => stretch))
  const ranges = usable.flatMap((piece) => rangesOf(piece, isPassed))
  const gaps = usable.slice(1).map((piece, i) => {
    const before = usable[i]!
    const reason = before.broken?.message ?? before.run.end?.reason ?? piece.run.start?.reason ?? 'not known'
    return { fromMs: before.stretches.at(-1)!.toMs, toMs: piece.stretches[0]!.fromMs, reason }
  })
  const twice = overlapsOf(usable.flatMap(({ stretches }) => stretches.filter(isUsable)))
  return { findings, notes, ranges, gaps, twice }
}

const isUsable = ({ fromMs, toMs }: Stretch): boolean => fromMs <= toMs

/** Returns the times that a piece covers. There is more than one range only if the clock was set back. */
const rangesOf = ({ stretches, bases, run }: Piece, isPassed: Set<Stretch>): ArchiveReport['ranges'] => {
  const usable = stretches.filter(isUsable)
  const counts = { bases: bases.length, segments: run.segments.length }
  const ranges: ArchiveReport['ranges'] = []
  usable.forEach(({ fromMs, toMs }, i) => {
    const before = usable[i - 1]
    if (before !== undefined && isPassed.has(before)) ranges.at(-1)!.toMs = toMs
    else ranges.push({ fromMs, toMs, ...counts })
  })
  return ranges
}

/** Returns the times that more than one stretch has. */
const overlapsOf = (stretches: readonly Stretch[]): ArchiveReport['twice'] => {
  const overlaps: ArchiveReport['twice'] = []
  let latestMs = Number.NEGATIVE_INFINITY
  for (const { fromMs, toMs } of stretches.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const overlap = { fromMs, toMs: Math.min(toMs, latestMs) }
    const last = overlaps.at(-1)
    if (overlap.fromMs <= overlap.toMs) {
      if (last !== undefined && overlap.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, overlap.toMs)
      else overlaps.push(overlap)
    }
    latestMs = Math.max(latestMs, toMs)
  }
  return overlaps
}
