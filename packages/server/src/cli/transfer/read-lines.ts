import { createReadStream, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { bodyBytesMax } from '../../core/limits.ts'
import { OperatorError } from '../../core/operator-error.ts'
import type { ReadLine } from '../../core/text/csv-records.ts'

export type { ReadLine }

export interface LineReader {
  /** The lines in order, several at a time. */
  blocks(): AsyncIterable<ReadLine[]>
  /** Returns how much of the file has been read, 0 to 1; undefined if its size is unknown. */
  fraction(): number | undefined
  /** Ends `blocks` early. */
  stop(): void
}

/** No record that the service accepts needs a longer line, unless most of it is white space. */
const lineBytesMax = bodyBytesMax

/** `-` is standard input. Gzip is recognized by its first bytes, not by the file's name. */
export const readLines = (file: string): LineReader => {
  const bytesTotal = file === '-' ? undefined : fileSize(file)
  let input: Readable | undefined
  let bytesRead = 0
  let stopped = false
  const count = async function* (): AsyncIterable<Buffer> {
    input = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
    for await (const chunk of input) {
      bytesRead += chunk.length
      yield chunk
    }
  }
  return {
    async *blocks() {
      try {
        yield* splitLines(await unpack(count()))
      } catch (error) {
        if (!stopped) throw readFailure(file, error as Error)
      }
    },
    fraction: () => (bytesTotal === undefined ? undefined : bytesTotal === 0 ? 1 : bytesRead / bytesTotal),
    stop: () => {
      stopped = true
      input?.destroy()
    },
  }
}

const fileSize = (file: string): number | undefined => {
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) throw new OperatorError(`${file} is a directory`)
    return stat.isFile() ? stat.size : undefined
  } catch (error) {
    throw readFailure(file, error as Error)
  }
}

const readFailure = (file: string, error: Error & { code?: string }): Error => {
  if (error instanceof OperatorError) return error
  const name = file === '-' ? 'standard input' : file
  if (error.code === 'ENOENT') return new OperatorError(`there is no file ${file}`)
  if (error.code?.startsWith('Z_')) return new OperatorError(`${name} is damaged or cut short: ${error.message}`)
  return new OperatorError(`${name} cannot be read: ${error.message}`)
}

/** Waits for three bytes, which a pipe may deliver one by one: a byte order mark must not be split. */
const unpack = async (chunks: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer>> => {
  const iterator = chunks[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  while (head.length < 3) {
    const { value, done } = await iterator.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  const whole = async function* (): AsyncIterable<Buffer> {
    yield head
    for (;;) {
      const { value, done } = await iterator.next()
      if (done) return
      yield value
    }
  }
  if (head[0] !== 0x1f || head[1] !== 0x8b) return whole()
  const source = Readable.from(whole())
  const gunzip = createGunzip({ chunkSize: 256 * 1024 })
  source.on('error', (error) => gunzip.destroy(error))
  return source.pipe(gunzip)
}

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
const decodeLines = (bytes: Buffer): ReadLine[] => {
  let text: string
  try {
    text = strict.decode(bytes)
  } catch {
    const lines: ReadLine[] = []
    for (let from = 0; from <= bytes.length; ) {
      const end = bytes.indexOf(0x0a, from)
      lines.push(decodeLine(bytes.subarray(from, end < 0 ? bytes.length : end)))
      from = end < 0 ? bytes.length + 1 : end + 1
    }
    return lines
  }
  const lines = text.split('\n')
  // A line that is too long can only be in a large block; one that spans more was cut off before.
  return bytes.length <= lineBytesMax
    ? lines
    : lines.map((line) => (Buffer.byteLength(line) > lineBytesMax ? tooLong : line))
}

const tooLong: ReadLine = { fault: `the line is longer than ${lineBytesMax} bytes.` }

async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncIterable<ReadLine[]> {
  let rest: Buffer[] = []
  let restBytes = 0
  let skipping = false
  let first = true
  for await (let chunk of chunks) {
    if (first && chunk.length > 0) {
      first = false
      // A byte order mark before the first line is allowed.
      if (chunk.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))) chunk = chunk.subarray(3)
      // The mark of UTF-16 in either byte order. Spreadsheets call it "Unicode text".
      if (chunk.length > 1 && (chunk.readUInt16BE(0) === 0xfeff || chunk.readUInt16BE(0) === 0xfffe)) {
        throw new OperatorError('the file is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8')
      }
    }
    if (skipping) {
      const end = chunk.indexOf(0x0a)
      if (end < 0) continue
      skipping = false
      chunk = chunk.subarray(end + 1)
    }
    const last = chunk.lastIndexOf(0x0a)
    if (last >= 0) {
      yield decodeLines(Buffer.concat([...rest, chunk.subarray(0, last)]))
      rest = []
      restBytes = 0
      chunk = chunk.subarray(last + 1)
    }
    rest.push(chunk)
    restBytes += chunk.length
    if (restBytes > lineBytesMax) {
      yield [tooLong]
      rest = []
      restBytes = 0
      skipping = true
    }
  }
  if (restBytes > 0) yield decodeLines(Buffer.concat(rest))
}
