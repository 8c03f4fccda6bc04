import { OperatorError } from '../../../core/operator-error.ts'
import { isBefore, type Position } from './archive-files.ts'
import type { KnownArchive, KnownRun } from './catalogue.ts'
import { type Piece, passedOver, readPieces, type Stretch } from './history.ts'

// Which bases and which commits a restore to a time needs. A commit is restored if it began before the time.

export interface Target {
  run: KnownRun
  /** Each of them will do; the first needs the fewest commits. */
  bases: KnownRun['bases']
  /** The last commit of the restored store. */
  position: Position
}

export const showTime = (ms: number): string => new Date(ms).toISOString()

export const findTarget = (archive: KnownArchive, atMs: number): Target => {
  const pieces = archive.runs.flatMap((run) => readPieces(run, atMs))
  const found = findStretch(
    pieces.flatMap((piece) => piece.stretches),
    atMs,
  )
  if (found === undefined) throw refuse(archive.findings, pieces, atMs)
  const { stretch, position } = found
  if (stretch.unsure !== null) throw unsure(atMs, ...stretch.unsure)
  const { run, bases } = stretch.piece
  return { run, bases: bases.filter(({ end }) => !isBefore(position, end)).toReversed(), position }
}

/** Where the time is. Undefined if the archive does not cover it. */
export const findStretch = (
  stretches: readonly Stretch[],
  atMs: number,
): { stretch: Stretch; position: Position } | undefined => {
  const having = stretches.filter(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs)
  if (having.length > 1) {
    throw refusal(atMs, 'was twice: the clock of the server was set back; give a time before or after that')
  }
  if (having.length === 1) return { stretch: having[0]!, position: having[0]!.at }
  const passed = passedOver(stretches).find(({ fromMs, toMs }) => fromMs < atMs && atMs < toMs)
  return passed && { stretch: passed.stretch, position: passed.stretch.end }
}

const refusal = (atMs: number, why: string): OperatorError => new OperatorError(`--at ${showTime(atMs)} ${why}`)

/** Says why there is nothing of that time, and which times are nearest. */
const refuse = (findings: readonly string[], pieces: readonly Piece[], atMs: number): OperatorError => {
  const usable = pieces.flatMap(({ stretches }) => stretches.filter(({ fromMs, toMs }) => fromMs <= toMs))
  const damage = [...findings, ...pieces.flatMap(({ broken }) => broken?.message ?? [])]
  if (usable.length === 0) {
    const why = damage.length > 0 ? damage.join('; ') : 'the archive has no complete base yet'
    return new OperatorError(`nothing can be restored: ${why}`)
  }
  const before = usable.filter(({ toMs }) => toMs < atMs).sort((a, b) => b.toMs - a.toMs)[0]
  const after = usable.filter(({ fromMs }) => fromMs > atMs).sort((a, b) => a.fromMs - b.fromMs)[0]
  if (before === undefined) {
    const first = showTime(after!.fromMs)
    return refusal(atMs, `is before the first base${showAll(damage)}; the first time that can be restored is ${first}`)
  }
  const from = pieces.indexOf(before.piece)
  const broken = pieces.slice(from).find((piece) => piece.broken !== undefined)?.broken?.message
  if (after === undefined) {
    const [why, last] = [showAll(broken === undefined ? findings : [broken]), showTime(before.toMs)]
    return refusal(atMs, `is after the end of the archive${why}; the last time that can be restored is ${last}`)
  }
  const { run } = before.piece
  const cause =
    before.piece === after.piece
      ? 'the clock of the server was set'
      : (broken ?? findings[0] ?? run.end?.reason ?? after.piece.run.start?.reason ?? 'not known')
  const [until, since] = [showTime(before.toMs), showTime(after.fromMs)]
  return refusal(atMs, `is in a gap of the archive (${cause}); restore at ${until} or earlier, or at ${since} or later`)
}

const showAll = (findings: readonly string[]): string => (findings.length === 0 ? '' : ` (${findings.join('; ')})`)

const unsure = (atMs: number, fromMs: number, toMs: number): OperatorError =>
  refusal(
    atMs,
    `is within the last moments before a crash, of which the times are lost; restore at ${showTime(fromMs)} or earlier, or after ${showTime(toMs)}`,
  )
