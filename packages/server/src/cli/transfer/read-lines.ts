import { createReadStream, statSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { bodyBytesMax } from '../../core/limits.ts'
import { OperatorError } from '../../core/operator-error.ts'
import type { ReadLine } from '../../core/text/csv-records.ts'
import { splitLines } from '../../core/text/lines.ts'
import { unpackGzip } from '../../core/text/unpack-gzip.ts'

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
        yield* splitLines(refuseUtf16(await unpack(count())), lineBytesMax)
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
  return head[0] === 0x1f && head[1] === 0x8b ? unpackGzip(whole(), 256 * 1024) : whole()
}

/** The mark of UTF-16 in either byte order. Spreadsheets call it "Unicode text". */
async function* refuseUtf16(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let isFirst = true
  for await (const chunk of chunks) {
    if (isFirst && chunk.length > 1 && (chunk.readUInt16BE(0) === 0xfeff || chunk.readUInt16BE(0) === 0xfffe)) {
      throw new OperatorError('the file is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8')
    }
    isFirst &&= chunk.length === 0
    yield chunk
  }
}
