import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPath } from '../../../files/sync.ts'
import { ArchiveDamaged, type Position, pathsOfRun, segmentPath, segmentsOf } from './archive-files.ts'
import { type BlockMeta, type FoundBlock, NotABlock, readBlock, readBlockMeta } from './block.ts'
import { frameBytesOf, type LastFrame, readFrameChecksum } from './wal-format.ts'

/** The end of a run, as its last segment has it. */
export interface RunTail {
  /** The last commit. */
  position: Position
  /** The first segment of the generation of the last frame. */
  generationFirstSegment: number
  coveredMs: number
  last: LastFrame | undefined
}

interface WholeBlocks {
  last: { block: FoundBlock; checksum: LastFrame['checksum'] } | undefined
  bytes: number
  isAll: boolean
}

/** The blocks up to the first that is not whole: the server may have ended while it wrote it. */
const readWhole = (path: string): WholeBlocks => {
  const file = openSync(path, 'r')
  const found: WholeBlocks = { last: undefined, bytes: 0, isAll: true }
  try {
    const { size } = fstatSync(file)
    while (found.bytes < size) {
      const { meta, chain, frames, end } = readBlock(file, found.bytes)
      const lastFrameAt = (meta.count - 1) * frameBytesOf(meta.pageBytes)
      const block = { meta, chain, framesAt: end - frames.length, end }
      found.last = { block, checksum: readFrameChecksum(frames, lastFrameAt) }
      found.bytes = end
    }
  } catch (error) {
    if (!(error instanceof NotABlock)) throw error
    found.isAll = false
  } finally {
    closeSync(file)
  }
  return found
}

/**
 * Finds the end of a run, and gives the segment that was open its final name, so that a new one follows it. An open
 * segment without a whole block is removed. `start`: where the run begins.
 */
export const closeTail = (runDir: string, start: Position): RunTail => {
  for (;;) {
    const segments = segmentsOf(runDir)
    const lastSegment = segments.at(-1)
    if (lastSegment === undefined) return { position: start, generationFirstSegment: 1, coveredMs: 0, last: undefined }
    const paths = pathsOfRun(runDir)
    const path = segmentPath(runDir, lastSegment)!
    const { last, bytes, isAll } = readWhole(path)
    const isOpen = path === paths.openSegment(lastSegment)
    // Nothing that follows it could be restored.
    if (!isOpen && (last === undefined || !isAll)) throw new ArchiveDamaged(`${path} is damaged`)
    if (last === undefined) {
      rmSync(path)
      syncPath(runDir)
      continue
    }
    if (isOpen) sealAt(path, paths.segment(lastSegment), bytes)
    const { meta } = last.block
    const { generation, coveredMs, salts, first, count } = meta
    return {
      position: { segment: lastSegment, generation, frame: first + count - 1, chain: last.block.chain },
      coveredMs,
      generationFirstSegment: firstSegmentOf(runDir, segments, generation),
      last: { salt1: salts[0], salt2: salts[1], frame: first + count - 1, checksum: last.checksum },
    }
  }
}

const sealAt = (open: string, sealed: string, bytes: number): void => {
  const file = openSync(open, 'r+')
  try {
    ftruncateSync(file, bytes)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(open, sealed)
  syncPath(dirname(sealed))
}

/** Throws if one of them is missing or damaged: a base that begins with them could not be used. */
const firstSegmentOf = (runDir: string, segments: number[], generation: number): number => {
  const paths = pathsOfRun(runDir)
  let first = segments.at(-1)!
  for (const number of segments.toReversed()) {
    if (number < first - 1) break
    if (firstMeta(segmentPath(runDir, number)!).generation !== generation) return first
    first = number
  }
  if (firstMeta(segmentPath(runDir, first)!).first > 1)
    throw new ArchiveDamaged(`${paths.segment(first - 1)} is missing`)
  return first
}

const firstMeta = (path: string): BlockMeta => {
  const file = openSync(path, 'r')
  try {
    return readBlockMeta(file, 0).meta
  } catch (error) {
    if (!(error instanceof NotABlock)) throw error
    throw new ArchiveDamaged(`${path} is damaged: ${error.message}`)
  } finally {
    closeSync(file)
  }
}
