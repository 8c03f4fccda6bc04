import { readSync } from 'node:fs'
import { hasShape, isCount, isPair, isText, isTime, type Shape } from './archive-files.ts'

// A segment is a file of blocks. A block has frames of one WAL generation as they were in the WAL, and the times of the
// commits that end in it. It is written and synced as a whole: a block whose hash agrees was archived.

export interface BlockMeta {
  /** The number of the WAL generation, counted within the run. */
  generation: number
  /** The chain of the block before it: see `chainOf`. */
  previous: string
  salts: [number, number]
  /** The number of the first frame in its generation, and the number of frames. The last one ends a commit. */
  first: number
  count: number
  pageBytes: number
  /** Every commit that was answered before this time is in this block or an earlier one. */
  coveredMs: number
  /** The last frame of each commit, and the time at which it began by the server's clock. */
  commits: [frame: number, beganMs: number][]
  /** The clock was set before these commits: see ClockWatch. */
  cuts: Cut[]
  /** Between these times the archive does not know when commits of this block were answered. */
  unsure: [fromMs: number, toMs: number] | null
}

/**
 * The last frame of the first commit after the clock was set, the time at which it was last seen before, and the first time
 * after that.
 */
export type Cut = [frame: number, endedMs: number, begunMs: number]

const isListOf =
  (length: number) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every((one) => Array.isArray(one) && one.length === length && one.every(isTime))

const shape: Shape<BlockMeta> = {
  ...{
    generation: isCount,
    previous: isText,
    salts: isPair(isCount),
    first: isCount,
    count: isCount,
    pageBytes: isCount,
  },
  ...{ coveredMs: isTime, commits: isListOf(2), cuts: isListOf(3) },
  unsure: (value) => value === null || isPair(isTime)(value),
}

export interface Block {
  meta: BlockMeta
  chain: string
  frames: Buffer
}

const magic = 0x324c4243 // "CBL2"
const prefixBytes = 32
const metaBytesMax = 64 * 1024 * 1024

const hashOf = (bytes: Uint8Array): bigint => Bun.hash.xxHash3(bytes) as unknown as bigint

export const encodeBlock = ({ meta, frames }: Pick<Block, 'meta' | 'frames'>): { parts: Buffer[]; chain: string } => {
  const text = Buffer.from(JSON.stringify(meta))
  const prefix = Buffer.alloc(prefixBytes)
  prefix.writeUInt32LE(magic, 0)
  prefix.writeUInt32LE(text.length, 4)
  prefix.writeUInt32LE(frames.length, 8)
  prefix.writeBigUInt64LE(hashOf(text), 12)
  prefix.writeBigUInt64LE(hashOf(frames), 20)
  prefix.writeUInt32LE(Bun.hash.crc32(prefix.subarray(0, 28)), 28)
  return { parts: [prefix, text, frames], chain: chainOf(prefix) }
}

/** Identifies the block and all blocks before it: the description has the chain of the one before. */
const chainOf = (prefix: Uint8Array): string => hashOf(prefix).toString(16)

export interface FoundBlock {
  meta: BlockMeta
  chain: string
  /** The position in the file at which its frames begin; `end` is that of the end of the block. */
  framesAt: number
  end: number
}

/** The bytes are not a block. */
export class NotABlock extends Error {
  constructor(
    message: string,
    /** The file ends within it: the server may be writing it, or may have ended while it did. */
    readonly isCutOff = false,
  ) {
    super(message)
  }
}

const readAt = (file: number, length: number, at: number): Buffer => {
  const bytes = Buffer.alloc(length)
  for (let done = 0; done < length; ) {
    const read = readSync(file, bytes, done, length - done, at + done)
    if (read === 0) throw new NotABlock(`it ends at byte ${at + done}, within a block`, true)
    done += read
  }
  return bytes
}

const damaged = (at: number): NotABlock => new NotABlock(`the block at byte ${at} is damaged`)

/** Reads a block without its frames, whose hash is not checked then. */
export const readBlockMeta = (file: number, at: number): FoundBlock & { framesHash: bigint } => {
  const prefix = readAt(file, prefixBytes, at)
  const [metaBytes, frameBytes] = [prefix.readUInt32LE(4), prefix.readUInt32LE(8)]
  const isPrefix =
    prefix.readUInt32LE(0) === magic && prefix.readUInt32LE(28) === Bun.hash.crc32(prefix.subarray(0, 28))
  if (!isPrefix || metaBytes > metaBytesMax) throw new NotABlock(`byte ${at} does not begin a block`)
  const framesAt = at + prefixBytes + metaBytes
  const text = readAt(file, metaBytes, at + prefixBytes)
  if (hashOf(text) !== prefix.readBigUInt64LE(12)) throw damaged(at)
  const meta = JSON.parse(text.toString())
  if (!hasShape(shape)(meta)) throw damaged(at)
  const found = { meta, chain: chainOf(prefix), framesAt, end: framesAt + frameBytes }
  return { ...found, framesHash: prefix.readBigUInt64LE(20) }
}

/** Reads the whole block and checks its hashes. */
export const readBlock = (file: number, at: number): Block & { end: number } => {
  const { meta, chain, framesAt, end, framesHash } = readBlockMeta(file, at)
  const frames = readAt(file, end - framesAt, framesAt)
  if (hashOf(frames) !== framesHash) throw damaged(at)
  return { meta, chain, frames, end }
}
