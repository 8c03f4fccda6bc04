import { fdatasyncSync, fstatSync, openSync, readSync } from 'node:fs'

// The format of SQLite's WAL file, as far as the archive reads it. A header of 32 bytes is followed by frames: a header of 24
// bytes and a page. A frame belongs to the current generation if it has the salts of the WAL header and its checksum continues
// that of the frame before. The last frame of a commit has the size of the database in pages.

export const walHeaderBytes = 32
export const frameHeaderBytes = 24

/** The first salt of the next generation is one more; the second is random. */
export interface Salts {
  salt1: number
  salt2: number
}

export interface WalHeader extends Salts {
  pageBytes: number
  /** True if checksums are over big-endian words. */
  bigEndian: boolean
  checksum: Checksum
}

export type Checksum = readonly [number, number]

interface FrameHead {
  page: number
  /** Pages of the database after this commit; 0 if the frame does not end a commit. */
  databasePages: number
}

const isLittleEndianHost = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1

/** `bytes` has a whole number of pairs of words and begins at a multiple of four. */
const addToChecksum = ([a, b]: Checksum, bytes: Buffer, bigEndian: boolean): Checksum => {
  let [s0, s1] = [a | 0, b | 0]
  if (bigEndian === isLittleEndianHost) {
    for (let at = 0; at < bytes.length; at += 8) {
      s0 = (s0 + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + s1) | 0
      s1 = (s1 + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + s0) | 0
    }
  } else {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    for (let at = 0; at < words.length; at += 2) {
      s0 = (s0 + words[at]! + s1) | 0
      s1 = (s1 + words[at + 1]! + s0) | 0
    }
  }
  return [s0 >>> 0, s1 >>> 0]
}

/** Undefined if these bytes are not a WAL header: the file is new, was truncated, or the header is just being written. */
export const readWalHeader = (bytes: Buffer): WalHeader | undefined => {
  if (bytes.length < walHeaderBytes) return undefined
  const magic = bytes.readUInt32BE(0)
  if (magic !== 0x377f0682 && magic !== 0x377f0683) return undefined
  const bigEndian = magic === 0x377f0683
  // The copy is aligned.
  const checksum = addToChecksum([0, 0], Buffer.from(bytes.subarray(0, 24)), bigEndian)
  if (checksum[0] !== bytes.readUInt32BE(24) || checksum[1] !== bytes.readUInt32BE(28)) return undefined
  return {
    pageBytes: bytes.readUInt32BE(8),
    salt1: bytes.readUInt32BE(16),
    salt2: bytes.readUInt32BE(20),
    bigEndian,
    checksum,
  }
}

export const frameBytesOf = (pageBytes: number): number => frameHeaderBytes + pageBytes

/** The position at which frame `frame` begins; the first is 1. */
const frameOffset = (frame: number, pageBytes: number): number => walHeaderBytes + (frame - 1) * frameBytesOf(pageBytes)

export const readFrameHead = (bytes: Buffer, at: number): FrameHead => ({
  page: bytes.readUInt32BE(at),
  databasePages: bytes.readUInt32BE(at + 4),
})

export const readFrameChecksum = (bytes: Buffer, at: number): Checksum => [
  bytes.readUInt32BE(at + 16),
  bytes.readUInt32BE(at + 20),
]

/** The last frame that a run of the archive has. */
export interface LastFrame extends Salts {
  frame: number
  checksum: Checksum
}

export const sameSalts = (a: Salts, b: Salts): boolean => a.salt1 === b.salt1 && a.salt2 === b.salt2

/** Tells whether `next` is the generation after `last`: SQLite reset the WAL once. */
export const isNextGeneration = (last: Salts, next: Salts): boolean => next.salt1 === (last.salt1 + 1) >>> 0

export interface ValidFrames {
  /** The number of frames up to the last commit. */
  frames: number
  /** The checksum of the last of them. */
  checksum: Checksum
  /** The numbers of the frames, from 0 in `bytes`, that end a commit. */
  commits: number[]
}

/**
 * Finds the valid frames at the beginning of `bytes` up to the last commit among them. `before` is the checksum of the frame
 * before, or of the header. `bytes` is aligned to four.
 */
export const findCommits = (bytes: Buffer, header: WalHeader, before: Checksum): ValidFrames => {
  const size = frameBytesOf(header.pageBytes)
  const found: ValidFrames = { frames: 0, checksum: before, commits: [] }
  let checksum = before
  for (let frame = 0, at = 0; at + size <= bytes.length; frame++, at += size) {
    if (bytes.readUInt32BE(at + 8) !== header.salt1 || bytes.readUInt32BE(at + 12) !== header.salt2) break
    checksum = addToChecksum(checksum, bytes.subarray(at, at + 8), header.bigEndian)
    checksum = addToChecksum(checksum, bytes.subarray(at + frameHeaderBytes, at + size), header.bigEndian)
    const stored = readFrameChecksum(bytes, at)
    if (checksum[0] !== stored[0] || checksum[1] !== stored[1]) break
    if (readFrameHead(bytes, at).databasePages === 0) continue
    found.frames = frame + 1
    found.checksum = checksum
    found.commits.push(frame)
  }
  return found
}

/** Returns the first `frames` of those that were found; the last of them ends a commit. */
export const cutAt = (found: ValidFrames, bytes: Buffer, { pageBytes }: WalHeader, frames: number): ValidFrames => ({
  frames,
  checksum: readFrameChecksum(bytes, (frames - 1) * frameBytesOf(pageBytes)),
  commits: found.commits.filter((frame) => frame < frames),
})

/** The first read of the WAL has this many bytes. Later reads are larger. */
const readBytesMin = 256 * 1024
const readBytes = 8 * 1024 * 1024
/** A transaction whose frames do not fit is too large to archive. */
const readBytesMax = 1024 * 1024 * 1024

/**
 * The WAL of an open store, read without SQLite. Its file stays the same as long as a connection is open, and readable after
 * that.
 */
export class WalFile {
  readonly #file: number

  constructor(databasePath: string) {
    this.#file = openSync(`${databasePath}-wal`, 'r')
  }

  get isEmpty(): boolean {
    return fstatSync(this.#file).size === 0
  }

  readHeader(): WalHeader | undefined {
    const bytes = Buffer.alloc(walHeaderBytes)
    return readSync(this.#file, bytes, 0, walHeaderBytes, 0) < walHeaderBytes ? undefined : readWalHeader(bytes)
  }

  /** The checksum of a frame; undefined if it is not of this generation. */
  checksumAt(header: WalHeader, frame: number): Checksum | undefined {
    const bytes = Buffer.alloc(frameHeaderBytes)
    const at = frameOffset(frame, header.pageBytes)
    const isThere = readSync(this.#file, bytes, 0, frameHeaderBytes, at) === frameHeaderBytes
    return isThere && isOfGeneration(bytes, 0, header) ? readFrameChecksum(bytes, 0) : undefined
  }

  /** The frames from number `first` on. `isAll`: there were no more bytes. */
  readFrames(header: WalHeader, first: number): { bytes: Buffer; isAll: boolean } {
    const size = frameBytesOf(header.pageBytes)
    const at = frameOffset(first, header.pageBytes)
    for (let wanted = readBytesMin; ; wanted *= 4) {
      const rounded = Math.max(size, Math.floor(wanted / size) * size)
      const left = Math.max(0, fstatSync(this.#file).size - at)
      const bytes = Buffer.alloc(Math.min(rounded, Math.floor(left / size) * size))
      const length = bytes.length === 0 ? 0 : readSync(this.#file, bytes, 0, bytes.length, at)
      const whole = bytes.subarray(0, Math.floor(length / size) * size)
      // The frames of this generation are followed by those of older ones, which were longer.
      const isAll = left <= rounded || !isOfGeneration(whole, whole.length - size, header)
      if (isAll || (wanted >= readBytes && hasCommit(whole, header))) return { bytes: whole, isAll }
      if (wanted >= readBytesMax) throw new Error('a transaction is too large to archive')
    }
  }

  /** Makes everything that was read durable. */
  sync(): void {
    fdatasyncSync(this.#file)
  }
}

const isOfGeneration = (bytes: Buffer, at: number, { salt1, salt2 }: WalHeader): boolean =>
  at >= 0 && bytes.readUInt32BE(at + 8) === salt1 && bytes.readUInt32BE(at + 12) === salt2

const hasCommit = (bytes: Buffer, { pageBytes }: WalHeader): boolean => {
  const size = frameBytesOf(pageBytes)
  for (let at = 0; at < bytes.length; at += size) if (readFrameHead(bytes, at).databasePages !== 0) return true
  return false
}
