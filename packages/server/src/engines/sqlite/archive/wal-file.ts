import { fdatasyncSync, fstatSync, openSync, readSync } from 'node:fs'
import {
  type Checksum,
  frameBytesOf,
  frameHeaderBytes,
  frameOffset,
  readFrameChecksum,
  readFrameHead,
  readWalHeader,
  type WalHeader,
  walHeaderBytes,
} from './wal-format.ts'

/** How much of the WAL is read at once, at first, and if there is more. */
const readBytesMin = 256 * 1024
const readBytes = 8 * 1024 * 1024
/** A transaction whose frames do not fit is too large to archive. */
const readBytesMax = 1024 * 1024 * 1024

/** The WAL of an open store, beside SQLite. Its file stays the same as long as a connection is open, and readable after that. */
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
      // Behind the frames of this generation there are those of older ones, which were longer.
      const isAll = left <= rounded || !isOfGeneration(whole, whole.length - size, header)
      if (isAll || (wanted >= readBytes && hasCommit(whole, header))) return { bytes: whole, isAll }
      if (wanted >= readBytesMax) throw new Error('a transaction is too large to archive')
    }
  }

  /** What was read is durable then. */
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
