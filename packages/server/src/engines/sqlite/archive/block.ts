import { readSync } from 'node:fs'

// A segment is a file of blocks. A block has frames of one WAL generation as they were in the WAL, and the times of the
// commits that end in it. It is written and synced as a whole: a block whose hash agrees was archived.

export interface BlockMeta {
  /** The number of the WAL generation, counted within the run. */
  generation: number
  salts: [number, number]
  /** The number in its generation of the first frame, and how many there are. The last one ends a commit. */
  first: number
  count: number
  pageBytes: number
  /** Every commit that was answered before this time is in this block or an earlier one. */
  coveredMs: number
  /** For each commit: the number of its last frame, and when it began by the server's clock. */
  commits: [frame: number, beganMs: number][]
  /** Between these times the archive does not know when commits of this block were answered. */
  unsure?: [fromMs: number, toMs: number]
}

export interface Block {
  meta: BlockMeta
  frames: Buffer
}

const magic = 0x4b4c4243 // "CBLK"
const prefixBytes = 24
const metaBytesMax = 64 * 1024 * 1024

const hashOf = (meta: Uint8Array, frames: Uint8Array): bigint =>
  Bun.hash.xxHash3(frames, Bun.hash.xxHash3(meta)) as unknown as bigint

export const encodeBlock = ({ meta, frames }: Block): Buffer[] => {
  const text = Buffer.from(JSON.stringify(meta))
  const prefix = Buffer.alloc(prefixBytes)
  prefix.writeUInt32LE(magic, 0)
  prefix.writeUInt32LE(text.length, 4)
  prefix.writeUInt32LE(frames.length, 8)
  prefix.writeUInt32LE(Bun.hash.crc32(prefix.subarray(0, 12)), 12)
  prefix.writeBigUInt64LE(hashOf(text, frames), 16)
  return [prefix, text, frames]
}

export interface FoundBlock {
  meta: BlockMeta
  /** Where its frames begin in the file, and where the block ends. */
  framesAt: number
  end: number
}

/** The bytes are not a block, or not all of it is there. */
export class NotABlock extends Error {}

const readAt = (file: number, length: number, at: number): Buffer => {
  const bytes = Buffer.alloc(length)
  for (let done = 0; done < length; ) {
    const read = readSync(file, bytes, done, length - done, at + done)
    if (read === 0) throw new NotABlock(`it ends at byte ${at + done}, within a block`)
    done += read
  }
  return bytes
}

interface Prefix {
  metaBytes: number
  frameBytes: number
  hash: bigint
}

const readPrefix = (file: number, at: number): Prefix => {
  const prefix = readAt(file, prefixBytes, at)
  const metaBytes = prefix.readUInt32LE(4)
  const isPrefix =
    prefix.readUInt32LE(0) === magic && prefix.readUInt32LE(12) === Bun.hash.crc32(prefix.subarray(0, 12))
  if (!isPrefix || metaBytes > metaBytesMax) throw new NotABlock(`byte ${at} does not begin a block`)
  return { metaBytes, frameBytes: prefix.readUInt32LE(8), hash: prefix.readBigUInt64LE(16) }
}

const parseMeta = (bytes: Buffer, at: number): BlockMeta => {
  try {
    return JSON.parse(bytes.toString()) as BlockMeta
  } catch {
    throw new NotABlock(`the block at byte ${at} is damaged`)
  }
}

/** Without reading the frames, so without checking the hash. */
export const readBlockMeta = (file: number, at: number): FoundBlock => {
  const { metaBytes, frameBytes } = readPrefix(file, at)
  const framesAt = at + prefixBytes + metaBytes
  return { meta: parseMeta(readAt(file, metaBytes, at + prefixBytes), at), framesAt, end: framesAt + frameBytes }
}

/** The whole block; its hash agrees. */
export const readBlock = (file: number, at: number): Block & { end: number } => {
  const { metaBytes, frameBytes, hash } = readPrefix(file, at)
  const text = readAt(file, metaBytes, at + prefixBytes)
  const frames = readAt(file, frameBytes, at + prefixBytes + metaBytes)
  if (hashOf(text, frames) !== hash) throw new NotABlock(`the block at byte ${at} is damaged`)
  return { meta: parseMeta(text, at), frames, end: at + prefixBytes + metaBytes + frameBytes }
}
