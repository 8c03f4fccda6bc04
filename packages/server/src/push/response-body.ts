import { pushFramingBytesMax, pushResponseBytesMax } from '../core/limits.ts'

/** Says how the end of a body is found: after this many bytes, after the last chunk, or when the connection ends. */
export type Framing = number | 'chunks' | 'connection'

/** `cut`: it is longer than the limits allow. `broken`: it is not as its framing says. */
export type BodyState = 'incomplete' | 'whole' | 'broken' | 'cut'

/** `\r\n` twice and one digit. */
const framingBytesOfChunk = 5

const [lineFeed, carriageReturn, space, tab, semicolon] = [10, 13, 32, 9, 59]

/** The part of a chunked body that the next byte belongs to. `rest` is the part of a size line after the size. */
const [size, rest, data, dataEnd, trailers] = [0, 1, 2, 3, 4]

/** Collects the body of an answer. */
export class PushResponseBody {
  readonly #framing: Framing
  #kept = new Uint8Array(0)
  #keptBytes = 0
  #part = size
  #sizeDigits = 0
  /** Bytes of the chunk that are still to come. */
  #chunkBytes = 0
  /** Bytes of the trailer line. */
  #lineBytes = 0
  #framingBytes = 0

  constructor(framing: Framing) {
    this.#framing = framing
  }

  get bytes(): Uint8Array {
    return this.#kept.subarray(0, this.#keptBytes)
  }

  /** Reads from `start` on. What follows a whole body is ignored. */
  read(bytes: Uint8Array, start: number): BodyState {
    const framing = this.#framing
    if (framing === 'chunks') return this.#readChunks(bytes, start)
    if (framing === 'connection') return this.#keep(bytes, start, bytes.length) ? 'incomplete' : 'cut'
    if (framing > pushResponseBytesMax) return 'cut'
    this.#keep(bytes, start, Math.min(bytes.length, start + framing - this.#keptBytes))
    return this.#keptBytes === framing ? 'whole' : 'incomplete'
  }

  /** The connection has ended in order. */
  end(): BodyState {
    return this.#framing === 'connection' ? 'whole' : 'broken'
  }

  /**
   * Reads byte by byte. With a line of text for each size, 65,536 chunks of one byte would take several times as long, and a
   * target may send nothing else.
   */
  #readChunks(bytes: Uint8Array, start: number): BodyState {
    let part = this.#part
    let framingBytes = this.#framingBytes
    let at = start
    while (at < bytes.length) {
      if (part === data) {
        const end = Math.min(bytes.length, at + this.#chunkBytes)
        if (!this.#keep(bytes, at, end)) return 'cut'
        this.#chunkBytes -= end - at
        at = end
        if (this.#chunkBytes === 0) part = dataEnd
        continue
      }
      const byte = bytes[at++]!
      if (++framingBytes > pushFramingBytesMax + framingBytesOfChunk * this.#keptBytes) return 'cut'
      if (part === size) {
        const digit = hexDigit(byte)
        if (digit >= 0) {
          this.#sizeDigits++
          this.#chunkBytes = this.#chunkBytes * 16 + digit
          if (this.#chunkBytes > pushResponseBytesMax) return 'cut'
          continue
        }
        const ends = byte === carriageReturn || byte === semicolon || byte === space || byte === tab
        if (!ends || this.#sizeDigits === 0) return 'broken'
        part = rest
      } else if (part === rest) {
        // A chunk of no bytes is the last one.
        if (byte === lineFeed) part = this.#chunkBytes === 0 ? trailers : data
      } else if (part === dataEnd) {
        if (byte === lineFeed) {
          part = size
          this.#sizeDigits = 0
        } else if (byte !== carriageReturn) return 'broken'
      } else if (byte === lineFeed) {
        if (this.#lineBytes === 0) return 'whole'
        this.#lineBytes = 0
      } else if (byte !== carriageReturn) this.#lineBytes++
    }
    this.#part = part
    this.#framingBytes = framingBytes
    return 'incomplete'
  }

  /** False if it would be too long. A copy byte by byte costs less than a view for each chunk. */
  #keep(bytes: Uint8Array, start: number, end: number): boolean {
    const needed = this.#keptBytes + end - start
    if (needed > pushResponseBytesMax) return false
    if (needed > this.#kept.length) {
      const larger = new Uint8Array(Math.max(needed, Math.min(2 * this.#kept.length, pushResponseBytesMax)))
      larger.set(this.#kept)
      this.#kept = larger
    }
    const kept = this.#kept
    for (let at = start, to = this.#keptBytes; at < end; ) kept[to++] = bytes[at++]!
    this.#keptBytes = needed
    return true
  }
}

/** -1 for any other byte. */
const hexDigit = (byte: number): number => {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 0x20
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
