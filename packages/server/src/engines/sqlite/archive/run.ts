import { closeSync, fdatasyncSync, ftruncateSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPath } from '../../../files/sync.ts'
import {
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
  shapes,
  startOf,
  writeAll,
  writeJson,
} from './archive-files.ts'
import { type Block, type BlockMeta, encodeBlock } from './block.ts'
import { ClockWatch } from './clock-watch.ts'
import type { RunTail } from './run-tail.ts'
import type { Checksum, WalHeader } from './wal-format.ts'

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
  /** How far it goes. A block that could not be written is not in it. */
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

  /** Durable when it returns. */
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

  /** Everything that the watch of the clock has seen is archived. */
  settle(): void {
    this.reach = { last: this.position, base: this.base?.number ?? 0, ...this.clock.seen }
  }

  sealSegment(): void {
    const segment = this.#segment
    this.#segment = undefined
    segment?.seal()
  }

  /** The archive failed: nothing more is written to this run. */
  giveUp(): void {
    this.#segment?.giveUp()
    this.#segment = undefined
  }
}

export const writeRunEnd = (dir: string, run: number, end: RunEnd): void =>
  writeJson(pathsOfRun(pathsOf(dir).run(run)).end, end)

/** A segment that is being written. After an error it takes nothing more: a second sync would prove nothing. */
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

  /** Durable when it returns. Returns the chain of the block. */
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

  /** After an error. What was synced before stays in the file under its open name, without a part of a block after it. */
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
