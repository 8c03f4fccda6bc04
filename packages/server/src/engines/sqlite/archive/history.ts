import { ArchiveDamaged, isBefore, type Position, pathsOfRun } from './archive-files.ts'
import type { Block, BlockMeta } from './block.ts'
import { blockMetas, type KnownRun } from './catalogue.ts'

// The commits of a run, as far as they are there, and the times that the clock showed meanwhile. A piece begins with a base and
// has every commit after it; where a file is damaged or missing the piece ends, and the next base begins another one.

export interface Piece {
  run: KnownRun
  /** The bases that a restore to one of its positions may begin with, in order. */
  bases: KnownRun['bases']
  /** The stretches in order. The clock was set between two of them: see ClockWatch. */
  stretches: Stretch[]
  /** The reason for which it ends before the run does. */
  broken: Break | undefined
}

interface Break {
  segment: number
  message: string
  /** The end of the newest run is not there: the archive is a copy that was made while the server wrote. */
  isCopy: boolean
}

export interface Stretch {
  piece: Piece
  /** The times that can be restored. */
  fromMs: number
  toMs: number
  /**
   * `end` is the last commit that began in the stretch or before it. `at` is the last of these commits that began before the
   * requested time.
   */
  end: Position
  at: Position
  /** Times of commits are lost here, and the requested time is one of them. */
  unsure: BlockMeta['unsure']
}

type KnownBlock = Pick<Block, 'meta' | 'chain'>
type ReadBlocks = (runDir: string, segment: number) => Iterable<KnownBlock>

const nowhere: Position = { segment: 0, generation: 0, frame: 0, chain: '' }

/** `atMs`: the requested time. `read` returns the blocks of a segment. If it reads their frames, these are checked too. */
export const readPieces = (run: KnownRun, atMs: number, read: ReadBlocks = blockMetas): Piece[] => {
  const pieces: Piece[] = []
  for (const base of run.bases) {
    const broken = pieces.at(-1)?.broken
    if (pieces.length > 0 && (broken === undefined || base.firstSegment <= broken.segment)) continue
    pieces.push(new PieceReader(run, base, atMs).read(read))
  }
  return pieces
}

class PieceReader {
  readonly #run: KnownRun
  readonly #base: KnownRun['bases'][number]
  readonly #atMs: number
  readonly #piece: Piece
  #now: Stretch
  /** The last commit that was read. */
  #position: Position
  #isUsable = false
  #last: KnownBlock | undefined

  constructor(run: KnownRun, base: KnownRun['bases'][number], atMs: number) {
    this.#run = run
    this.#base = base
    this.#atMs = atMs
    this.#piece = { run, bases: [], stretches: [], broken: undefined }
    this.#addBases(base.end)
    // The base itself has everything that was committed before its generation.
    const isWhole = base.end.segment < base.firstSegment
    this.#position = isWhole ? base.end : nowhere
    this.#now = this.#stretchFrom(base.usableFromMs)
    if (isWhole) this.#beginToUse(base.usableFromMs)
  }

  read(readBlocks: ReadBlocks): Piece {
    const { segments, reach, dir } = this.#run
    const lastSegment = Math.max(segments.at(-1) ?? 0, reach?.last.segment ?? 0)
    for (let segment = this.#base.firstSegment; segment <= lastSegment; segment++) {
      try {
        for (const block of readBlocks(dir, segment)) this.#add(segment, block)
      } catch (error) {
        if (!(error instanceof ArchiveDamaged)) throw error
        return this.#end(segment, error.message)
      }
    }
    return this.#end(lastSegment)
  }

  #add(segment: number, block: KnownBlock): void {
    const path = segmentName(this.#run, segment)
    requireNext(path, this.#last, block)
    const { meta, chain } = block
    // The base names the block that it ends with.
    if (this.#position === this.#base.end) requireChain(path, meta.previous, this.#base.end)
    this.#last = block
    const { generation, cuts, unsure } = meta
    this.#noteUnsure(unsure)
    for (const [frame, beganMs] of meta.commits) {
      const cut = cuts.find(([cutFrame]) => cutFrame === frame)
      if (cut !== undefined) this.#beginStretch(cut[1], cut[2])
      this.#position = { segment, generation, frame, chain }
      this.#now.end = this.#position
      if (beganMs < this.#atMs) this.#now.at = this.#position
      if (!this.#isUsable && !isBefore(this.#position, this.#base.end)) this.#beginToUse(beganMs + 1)
    }
    const { end } = this.#base
    if (generation === end.generation && meta.first + meta.count - 1 === end.frame) requireChain(path, chain, end)
    this.#addBases(this.#position)
    this.#now.toMs = Math.max(this.#now.toMs, meta.coveredMs)
    this.#noteUnsure(unsure)
  }

  /** Adds the bases that end here. A base of another run ends at another block, and is not used. */
  #addBases(position: Position): void {
    const { bases } = this.#piece
    for (const base of this.#run.bases) {
      const isOfPiece = base.firstSegment >= this.#base.firstSegment && base.end.chain === position.chain
      if (isOfPiece && !bases.includes(base)) bases.push(base)
    }
  }

  /** Nothing is known before and after lost times: the clock may have been set meanwhile. */
  #noteUnsure(unsure: BlockMeta['unsure']): void {
    if (unsure !== null && unsure[0] < this.#atMs && this.#atMs <= unsure[1]) this.#now.unsure = unsure
  }

  #stretchFrom(fromMs: number): Stretch {
    const [end, at] = [this.#position, this.#position]
    return { piece: this.#piece, fromMs, toMs: Number.NEGATIVE_INFINITY, end, at, unsure: null }
  }

  #beginStretch(endedMs: number, begunMs: number): void {
    this.#now.toMs = Math.max(this.#now.toMs, endedMs)
    this.#now = this.#stretchFrom(begunMs)
    if (this.#isUsable) this.#piece.stretches.push(this.#now)
  }

  /** Begins the first stretch when the end of the base is reached: from here on, commits can be restored. */
  #beginToUse(fromMs: number): void {
    this.#isUsable = true
    this.#now.fromMs = Math.max(this.#base.usableFromMs, fromMs)
    this.#piece.stretches.push(this.#now)
  }

  /** Ends the piece. `damage`: the finding in the segment, for example that it is missing. */
  #end(segment: number, damage?: string): Piece {
    const { reach, end, isNewest, segments } = this.#run
    const isShort = reach !== undefined && isBefore(this.#position, reach.last)
    const mayBeCopy = isNewest && end === undefined
    const isLast = segment >= (segments.at(-1) ?? 0)
    // After the point that the heartbeat promises, the server was writing when the machine stopped.
    const isUnfinished = damage !== undefined && mayBeCopy && isLast && reach !== undefined && !isShort
    if (damage !== undefined && !isUnfinished) {
      // The open segment gets another name while it is copied. A base may end in it, but not in one that is after it.
      const isTail = segment > (segments.at(-1) ?? 0) && this.#run.bases.every((base) => base.end.segment <= segment)
      this.#piece.broken = { segment, message: damage, isCopy: mayBeCopy && isTail }
    } else if (isShort) {
      const message = `${segmentName(this.#run, segment)} ends too early: commits are missing`
      this.#piece.broken = { segment, message, isCopy: mayBeCopy }
    } else if (reach !== undefined && !isBefore(reach.last, this.#position)) {
      if (this.#position !== nowhere && reach.last.chain !== this.#position.chain) {
        const message = `${segmentName(this.#run, segment)} is not that of this run`
        this.#piece.broken = { segment, message, isCopy: false }
        return this.#piece
      }
      this.#now.toMs = Math.max(this.#now.toMs, reach.coveredMs)
      if (reach.later !== null) {
        this.#beginStretch(reach.coveredMs, reach.later[0])
        this.#now.toMs = reach.later[1]
      }
    }
    return this.#piece
  }
}

const segmentName = ({ dir }: KnownRun, segment: number): string => pathsOfRun(dir).segment(segment)

const requireChain = (path: string, chain: string, position: Position): void => {
  if (chain !== position.chain) throw new ArchiveDamaged(`${path} is not what the base was made with`)
}

/** Throws unless `next` follows `last`, the block before it. */
export const requireNext = (path: string, last: KnownBlock | undefined, { meta: next }: KnownBlock): void => {
  const before = last?.meta
  const follows =
    before === undefined || next.generation === before.generation + 1
      ? next.first === 1
      : next.generation === before.generation &&
        next.first === before.first + before.count &&
        next.salts[0] === before.salts[0] &&
        next.salts[1] === before.salts[1]
  if (!follows || (last !== undefined && next.previous !== last.chain))
    throw new ArchiveDamaged(`${path} does not continue the segment before it: frames are missing`)
}

/** A stretch continues for at most about this long after the archive's last look at the clock. */
const observeEveryMsMax = 1_000

/**
 * Finds the times between a stretch and a later one that the clock did not show: the server was stopped, or the clock was set
 * ahead. Nothing was committed then, so these times can be restored too, unless the clock showed them before or after that. The
 * stretches are those of the whole archive.
 */
export const passedOver = (stretches: readonly Stretch[]): { stretch: Stretch; fromMs: number; toMs: number }[] =>
  stretches.flatMap((stretch, i) => {
    const next = stretches[i + 1]
    if (next === undefined || next.piece !== stretch.piece) return []
    let [fromMs, toMs] = [stretch.toMs, next.fromMs]
    for (const before of stretches.slice(0, i)) {
      if (before.fromMs < next.fromMs) fromMs = Math.max(fromMs, before.toMs + observeEveryMsMax)
    }
    for (const after of stretches.slice(i + 2)) {
      // A gap may have any commits, at any time that the clock showed.
      if (after.piece !== stretch.piece && after.fromMs < next.fromMs) return []
      if (after.fromMs > stretch.toMs) toMs = Math.min(toMs, after.fromMs)
    }
    return fromMs < toMs ? [{ stretch, fromMs, toMs }] : []
  })
