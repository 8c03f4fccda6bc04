import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { OperatorError } from '../../../core/operator-error.ts'
import { ArchiveDamaged, type Position, pathsOfRun } from './archive-files.ts'
import type { Block, BlockMeta } from './block.ts'
import { type KnownRun, readArchive, wholeBlocks } from './catalogue.ts'
import { findTarget, showTime, type Target } from './find-target.ts'
import { requireNext } from './history.ts'
import { frameBytesOf, frameHeaderBytes, readFrameHead } from './wal-format.ts'

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

/** How many frames of the block belong to commits up to the target. */
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
