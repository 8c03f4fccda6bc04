import type { ReadLine } from './csv-records.ts'

const lineFeed = 0x0a
const byteOrderMark = [0xef, 0xbb, 0xbf]

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Most often it is the encoding of Windows. */
const notUtf8 = 'the line is not valid UTF-8. Convert the file first, for example: iconv -f WINDOWS-1252 -t UTF-8.'

const decodeLine = (bytes: Uint8Array): ReadLine => {
  try {
    return strict.decode(bytes)
  } catch {
    return { fault: notUtf8, lossyText: Buffer.from(bytes).toString('latin1') }
  }
}

/** `bytes` are whole lines. Decoding them together is several times faster than one by one. */
const decodeLines = (bytes: Uint8Array, bytesMax: number): ReadLine[] => {
  // A line that is too long can only be in a large block; one that spans more was cut off before.
  const mayBeTooLong = bytes.length > bytesMax
  let text: string
  try {
    text = strict.decode(bytes)
  } catch {
    const lines: ReadLine[] = []
    for (let from = 0; from <= bytes.length; ) {
      const end = bytes.indexOf(lineFeed, from)
      const line = bytes.subarray(from, end < 0 ? bytes.length : end)
      lines.push(line.length > bytesMax ? tooLong(bytesMax) : decodeLine(line))
      from = end < 0 ? bytes.length + 1 : end + 1
    }
    return lines
  }
  const lines = text.split('\n')
  return mayBeTooLong ? lines.map((line) => (Buffer.byteLength(line) > bytesMax ? tooLong(bytesMax) : line)) : lines
}

const tooLong = (bytesMax: number): ReadLine => ({ fault: `the line is longer than ${bytesMax} bytes.` })

/** The beginning of a line, in one buffer: a line may arrive byte by byte, and an object for each takes 100 times as much. */
class BegunLine {
  #bytes: Buffer = Buffer.alloc(0)
  length = 0

  add(bytes: Uint8Array): void {
    const length = this.length + bytes.length
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length))
      larger.set(this.#bytes.subarray(0, this.length))
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.length)
    this.length = length
  }

  /** It begins anew. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.length)
    this.drop()
    return bytes
  }

  drop(): void {
    this.#bytes = Buffer.alloc(0)
    this.length = 0
  }
}

/** A block may have as many lines as it has bytes, so it is made of few bytes: the thread does nothing else meanwhile. */
const blockBytes = 64 * 1024

async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += blockBytes) yield chunk.subarray(from, from + blockBytes)
  }
}

const withoutMark = (bytes: Uint8Array): Uint8Array =>
  byteOrderMark.every((byte, i) => bytes[i] === byte) ? bytes.subarray(byteOrderMark.length) : bytes

/**
 * Splits bytes into lines, several at a time; sometimes none, so that the caller is asked again and again while a long line is
 * passed over. A byte order mark before the first line is dropped. A line that is too long or not UTF-8 has a fault, and of a
 * longer one nothing is kept. A chunk is used only until the next one is taken.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<ReadLine[], void> {
  const begun = new BegunLine()
  let isSkipping = false
  let isFirst = true
  const decode = (bytes: Uint8Array): ReadLine[] => {
    const lines = decodeLines(isFirst ? withoutMark(bytes) : bytes, bytesMax)
    isFirst = false
    return lines
  }
  for await (let chunk of inPieces(chunks)) {
    if (isSkipping) {
      const end = chunk.indexOf(lineFeed)
      if (end < 0) {
        yield []
        continue
      }
      isSkipping = false
      chunk = chunk.subarray(end + 1)
    }
    const last = chunk.lastIndexOf(lineFeed)
    if (last >= 0) {
      const lines = chunk.subarray(0, last)
      if (begun.length > 0) begun.add(lines)
      yield decode(begun.length > 0 ? begun.take() : lines)
      chunk = chunk.subarray(last + 1)
    }
    if (chunk.length === 0) continue
    if (begun.length + chunk.length <= bytesMax) begun.add(chunk)
    else {
      begun.drop()
      isSkipping = true
      isFirst = false
      yield [tooLong(bytesMax)]
    }
  }
  if (begun.length > 0) yield decode(begun.take())
}
