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
  let text: string
  try {
    text = strict.decode(bytes)
  } catch {
    const lines: ReadLine[] = []
    for (let from = 0; from <= bytes.length; ) {
      const end = bytes.indexOf(lineFeed, from)
      lines.push(decodeLine(bytes.subarray(from, end < 0 ? bytes.length : end)))
      from = end < 0 ? bytes.length + 1 : end + 1
    }
    return lines
  }
  const lines = text.split('\n')
  // A line that is too long can only be in a large block; one that spans more was cut off before.
  return bytes.length <= bytesMax
    ? lines
    : lines.map((line) => (Buffer.byteLength(line) > bytesMax ? tooLong(bytesMax) : line))
}

const tooLong = (bytesMax: number): ReadLine => ({ fault: `the line is longer than ${bytesMax} bytes.` })

/**
 * Splits bytes into lines, several at a time. A byte order mark before the first line is dropped. A line that is too long or
 * not UTF-8 has a fault, and of a longer one nothing is kept. A chunk is used only until the next one is taken.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<ReadLine[], void> {
  let rest: Uint8Array[] = []
  let restBytes = 0
  let isSkipping = false
  let isFirst = true
  for await (let chunk of chunks) {
    if (isFirst && chunk.length > 0) {
      isFirst = false
      if (byteOrderMark.every((byte, i) => chunk[i] === byte)) chunk = chunk.subarray(byteOrderMark.length)
    }
    if (isSkipping) {
      const end = chunk.indexOf(lineFeed)
      if (end < 0) continue
      isSkipping = false
      chunk = chunk.subarray(end + 1)
    }
    const last = chunk.lastIndexOf(lineFeed)
    if (last >= 0) {
      const lines = chunk.subarray(0, last)
      yield decodeLines(rest.length === 0 ? lines : Buffer.concat([...rest, lines]), bytesMax)
      rest = []
      restBytes = 0
      chunk = chunk.subarray(last + 1)
    }
    if (chunk.length === 0) continue
    rest.push(Buffer.from(chunk))
    restBytes += chunk.length
    if (restBytes > bytesMax) {
      yield [tooLong(bytesMax)]
      rest = []
      restBytes = 0
      isSkipping = true
    }
  }
  if (restBytes > 0) yield decodeLines(Buffer.concat(rest), bytesMax)
}
