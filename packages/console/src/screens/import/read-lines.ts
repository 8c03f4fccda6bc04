import { bodyBytesMax } from '../../../../server/src/core/limits.ts'

// The lines of a file, piece by piece: the whole of it is never in memory.

/** The limit of a put: no record that the server takes needs a longer line, unless most of it is white space. */
const lineBytesMax = bodyBytesMax

/** A line without its line feed, or what is wrong with it. */
export type ReadLine =
  | { text: string; fault?: undefined }
  | {
      fault: string
      /** The text of a line that is not valid UTF-8. Only its ASCII characters are right. */
      lossyText?: string
    }

const tooLong: ReadLine = { fault: `the line is longer than ${lineBytesMax} bytes.` }
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const lossy = new TextDecoder('latin1')

const decodeLine = (bytes: Uint8Array): ReadLine => {
  if (bytes.length > lineBytesMax) return tooLong
  try {
    return { text: strict.decode(bytes) }
  } catch {
    return { fault: 'the line is not valid UTF-8. Convert the file first.', lossyText: lossy.decode(bytes) }
  }
}

const joined = (parts: Uint8Array[]): Uint8Array => {
  if (parts.length === 1) return parts[0]!
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

const hasMark = (bytes: Uint8Array): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/** Yields the lines in order, one piece of the file at a time. A line that is too long is skipped without being kept. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadLine[]> {
  let rest: Uint8Array[] = []
  let restBytes = 0
  let isFirst = true
  const close = (part: Uint8Array): ReadLine => {
    const isLong = restBytes + part.length > lineBytesMax
    const bytes = isLong ? part : joined([...rest, part])
    rest = []
    restBytes = 0
    if (isLong) return tooLong
    // A byte order mark before the first line is allowed.
    const line = decodeLine(isFirst && hasMark(bytes) ? bytes.subarray(3) : bytes)
    isFirst = false
    return line
  }
  for await (const chunk of chunks) {
    const lines: ReadLine[] = []
    let from = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      lines.push(close(chunk.subarray(from, end)))
      from = end + 1
    }
    const left = chunk.subarray(from)
    restBytes += left.length
    if (restBytes > lineBytesMax) rest = []
    else if (left.length > 0) rest.push(left)
    if (lines.length > 0) yield lines
  }
  if (restBytes > 0) yield [close(new Uint8Array())]
}

/** The bytes of a file, unpacked if it is compressed with gzip. `onRead` hears how many bytes of the file were read. */
const openFile = async (file: File, onRead: (bytes: number) => void): Promise<ReadableStream<Uint8Array>> => {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  const counted = file.stream().pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        onRead(chunk.length)
        controller.enqueue(chunk)
      },
    }),
  )
  return first === 0x1f && second === 0x8b ? counted.pipeThrough(new DecompressionStream('gzip')) : counted
}

/** The lines of a file, piece by piece. The file is closed when the caller has enough. */
export async function* linesOf(file: File, onRead: (bytes: number) => void): AsyncGenerator<ReadLine[]> {
  const reader = (await openFile(file, onRead)).getReader()
  let isFirst = true
  const chunks = async function* () {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      if (isFirst && isUtf16(value)) throw new Error('The file is UTF-16, not UTF-8. Convert it first.')
      isFirst = false
      yield value
    }
  }
  try {
    yield* readLines(chunks())
  } finally {
    reader.cancel().catch(() => {})
  }
}
