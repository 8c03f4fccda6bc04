import { closeSync, fdatasyncSync, fstatSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPath } from '../../../files/sync.ts'
import {
  ArchiveDamaged,
  type BaseInfo,
  basesOf,
  makeRunDir,
  type Position,
  pathsOf,
  pathsOfRun,
  type RunEnd,
  type RunReach,
  readJson,
  runsOf,
  segmentPath,
  segmentsOf,
  shapes,
  startOf,
  writeAll,
  writeJson,
} from './archive-files.ts'
import {
  type Block,
  type BlockMeta,
  encodeBlock,
  type FoundBlock,
  NotABlock,
  readBlock,
  readBlockMeta,
} from './block.ts'
import { ClockWatch } from './clock-watch.ts'
import { type Checksum, frameBytesOf, type LastFrame, readFrameChecksum, type WalHeader } from './wal-file.ts'

/** A segment is at most a little longer than this. */
const segmentBytesMax = 64 * 1024 * 1024

/** A chain of frames without a gap, while it is written. */
export class Run {
  readonly dir: string
  /** The WAL generation that is being archived; undefined until the first is found. */
  header: WalHeader | undefined
  generation = 0
  /** The last archived frame of the generation, and its checksum. */
  frame = 0
  checksum: Checksum = [0, 0]
  /** The last archived commit, also if the WAL is empty now or another generation has begun. */
  position: Position
  /** The reach of the run, without a block that could not be written. */
  reach: RunReach
  generationFirstSegment = 1
  lastSegment = 0
  clock = new ClockWatch()
  /** The newest base that is complete. */
  base: (BaseInfo & { number: number }) | undefined
  #segment: SegmentWriter | undefined

  private constructor(
    dir: string,
    readonly number: number,
    position: Position,
  ) {
    this.dir = pathsOf(dir).run(number)
    this.position = position
    this.reach = { last: position, base: 0, coveredMs: 0, later: null }
  }

  static begin(dir: string, archive: string, nowMs: number, reason: string): Run {
    const number = (runsOf(dir).at(-1) ?? 0) + 1
    makeRunDir(dir, number)
    const run = new Run(dir, number, startOf(archive, number))
    writeJson(pathsOfRun(run.dir).start, { startedAtMs: nowMs, reason })
    return run
  }

  /** Continues after the last archived frame of `header`'s generation, or with `header` as another generation. */
  static resume(
    dir: string,
    number: number,
    tail: RunTail,
    header: WalHeader | undefined,
    isSameGeneration: boolean,
  ): Run {
    const run = new Run(dir, number, tail.position)
    run.lastSegment = tail.position.segment
    run.generation = tail.position.generation
    run.generationFirstSegment = tail.generationFirstSegment
    const newest = basesOf(run.dir).at(-1)
    if (newest !== undefined) {
      run.base = { ...readJson(pathsOfRun(run.dir).baseInfo(newest), shapes.base)!, number: newest }
    }
    if (isSameGeneration) {
      run.header = header
      run.frame = tail.last!.frame
      run.checksum = tail.last!.checksum
    } else if (header !== undefined) run.beginGeneration(header)
    return run
  }

  beginGeneration(header: WalHeader): void {
    this.sealSegment()
    // A generation of which nothing is archived has no number yet.
    if (this.header === undefined || this.frame > 0) {
      this.generation++
      this.generationFirstSegment = this.lastSegment + 1
    }
    this.header = header
    this.frame = 0
    this.checksum = header.checksum
  }

  /** The block is durable when it returns. */
  append(meta: BlockMeta, frames: Buffer, checksum: Checksum): void {
    if (this.#segment !== undefined && this.#segment.bytes >= segmentBytesMax) this.sealSegment()
    this.#segment ??= new SegmentWriter(this.dir, this.lastSegment + 1)
    this.lastSegment = this.#segment.number
    const chain = this.#segment.append({ meta, frames })
    this.frame = meta.first + meta.count - 1
    this.position = { segment: this.lastSegment, generation: meta.generation, frame: this.frame, chain }
    this.checksum = checksum
    this.settle()
  }

  /** Call it when everything that the watch of the clock has seen is archived. */
  settle(): void {
    this.reach = { last: this.position, base: this.base?.number ?? 0, ...this.clock.seen }
  }

  sealSegment(): void {
    const segment = this.#segment
    this.#segment = undefined
    segment?.seal()
  }

  /** Ends the run when the archive has failed: nothing more is written to it. */
  giveUp(): void {
    this.#segment?.giveUp()
    this.#segment = undefined
  }
}

export const writeRunEnd = (dir: string, run: number, end: RunEnd): void =>
  writeJson(pathsOfRun(pathsOf(dir).run(run)).end, end)

/** A segment that is being written. After an error nothing more is appended: a second sync would prove nothing. */
class SegmentWriter {
  readonly #file: number
  readonly #open: string
  readonly #sealed: string
  bytes = 0

  constructor(
    runDir: string,
    readonly number: number,
  ) {
    const paths = pathsOfRun(runDir)
    this.#open = paths.openSegment(number)
    this.#sealed = paths.segment(number)
    this.#file = openSync(this.#open, 'wx', 0o600)
    try {
      syncPath(runDir)
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
  }

  /** The block is durable when it returns. Returns its chain. */
  append(block: Pick<Block, 'meta' | 'frames'>): string {
    const { parts, chain } = encodeBlock(block)
    const bytes = writeAll(this.#file, parts)
    fdatasyncSync(this.#file)
    this.bytes += bytes
    return chain
  }

  seal(): void {
    closeSync(this.#file)
    renameSync(this.#open, this.#sealed)
    syncPath(dirname(this.#sealed))
  }

  /** Call it after an error. Synced blocks stay in the file under its open name; a part of a block after them is cut off. */
  giveUp(): void {
    try {
      ftruncateSync(this.#file, this.bytes)
    } catch {
      // A reader stops at the first block that is not whole.
    }
    try {
      closeSync(this.#file)
    } catch {
      // The descriptor is gone either way.
    }
  }
}

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

/** Reads the blocks up to the first that is not whole: the server may have ended while it wrote it. */
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
