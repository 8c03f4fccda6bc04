import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { OperatorError } from '../../../core/operator-error.ts'
import { ArchiveDamaged, isBefore, type Position, pathsOfRun } from './archive-files.ts'
import type { Block, BlockMeta } from './block.ts'
import { type KnownArchive, type KnownRun, readArchive, wholeBlocks } from './catalogue.ts'
import { type Piece, passedOver, readPieces, requireNext, type Stretch } from './history.ts'
import { frameBytesOf, frameHeaderBytes, readFrameHead } from './wal-file.ts'

// A restore to a time needs a base and all commits after it that began before the time.

interface Target {
  run: KnownRun
  /** A restore can use any of them; the first needs the fewest commits. */
  bases: KnownRun['bases']
  /** The last commit of the restored store. */
  position: Position
}

export const showTime = (ms: number): string => new Date(ms).toISOString()

const findTarget = (archive: KnownArchive, atMs: number): Target => {
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

/** Finds the stretch and the commit of the time. Undefined if the archive does not cover it. */
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

/** Says why that time cannot be restored, and which times are nearest. */
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

/** Writes the database of that time into `file`, which exists and is empty. It is not synced and not checked. */
export const restoreArchive = (dir: string, atMs: number, file: string): void => {
  const target = findTarget(readArchive(dir), atMs)
  const database = openSync(file, 'r+')
  try {
    const base = copyBase(target, database)
    const pages = replay(target, base, database)
    if (pages !== undefined) ftruncateSync(database, pages * base.pageBytes)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`${showTime(atMs)} cannot be restored from ${dir}: ${(error as Error).message}`)
  } finally {
    closeSync(database)
  }
}

type Base = KnownRun['bases'][number]

const copyBytes = 4 * 1024 * 1024

/** Calls `use` with the parts of a base, and compares them with its digest. */
export const readBase = (run: KnownRun, base: Base, use: (part: Buffer, at: number) => void): void => {
  const path = pathsOfRun(run.dir).base(base.number)
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    const isMissing = (error as { code?: string }).code === 'ENOENT'
    throw new ArchiveDamaged(isMissing ? `${path} is missing` : `${path} cannot be read: ${(error as Error).message}`)
  }
  try {
    const hash = new Bun.CryptoHasher('sha256')
    const buffer = Buffer.alloc(copyBytes)
    for (let at = 0; ; ) {
      const length = readSync(file, buffer, 0, copyBytes, at)
      if (length === 0) break
      const part = buffer.subarray(0, length)
      hash.update(part)
      use(part, at)
      at += length
    }
    if (hash.digest('hex') !== base.sha256) throw new ArchiveDamaged(`${path} is damaged: its digest is another one`)
  } finally {
    closeSync(file)
  }
}

/** Copies the newest base that is whole: the commits since an older one are there too. */
const copyBase = ({ run, bases }: Target, database: number): Base => {
  for (const [i, base] of bases.entries()) {
    try {
      readBase(run, base, (part, at) => {
        for (let done = 0; done < part.length; ) done += writeSync(database, part, done, part.length - done, at + done)
      })
      return base
    } catch (error) {
      if (!(error instanceof ArchiveDamaged) || i === bases.length - 1) throw error
      ftruncateSync(database, 0)
    }
  }
  throw new Error('no base was given')
}

/** Applies the commits up to the target. Returns the size of the database in pages; undefined if there were none. */
const replay = ({ run, position }: Target, base: Base, database: number): number | undefined => {
  let pages: number | undefined
  let last: Block | undefined
  for (let segment = base.firstSegment; segment <= position.segment; segment++) {
    for (const block of wholeBlocks(run.dir, segment)) {
      requireNext(pathsOfRun(run.dir).segment(segment), last, block)
      last = block
      const count = framesUpTo(block.meta, position)
      if (count > 0) pages = apply(block, count, database)
      if (count < block.meta.count) return pages
    }
  }
  return pages
}

/** Returns the number of frames of the block that belong to commits up to the target. */
const framesUpTo = ({ generation, first, count }: BlockMeta, target: Position): number => {
  if (generation < target.generation) return count
  return generation > target.generation ? 0 : Math.max(0, Math.min(count, target.frame - first + 1))
}

const apply = ({ meta, frames }: Block, count: number, database: number): number => {
  const size = frameBytesOf(meta.pageBytes)
  const lastOfPage = new Map<number, number>()
  for (let frame = 0; frame < count; frame++) lastOfPage.set(readFrameHead(frames, frame * size).page, frame)
  for (const [page, frame] of lastOfPage) {
    const at = frame * size + frameHeaderBytes
    writeSync(database, frames, at, meta.pageBytes, (page - 1) * meta.pageBytes)
  }
  return readFrameHead(frames, (count - 1) * size).databasePages
}
