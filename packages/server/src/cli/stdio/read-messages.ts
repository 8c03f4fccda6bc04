import { batchBodyBytesMax } from '../../core/limits.ts'

/** A line without its line feed, or what is wrong with it. */
export type MessageLine = { readonly text: string } | { readonly fault: string }

const lineFeed = 0x0a

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const decodeLine = (parts: Buffer[]): MessageLine => {
  try {
    return { text: decoder.decode(Buffer.concat(parts)) }
  } catch {
    return { fault: 'The message is not UTF-8.' }
  }
}

const tooLong: MessageLine = { fault: `The message is longer than ${batchBodyBytesMax} bytes.` }

/**
 * One message per line. Nothing is read while the caller does not ask for the next one. No more than one line is in memory,
 * and of a line that is too long only its beginning.
 */
export async function* readMessages(chunks: AsyncIterable<Buffer>): AsyncGenerator<MessageLine> {
  let parts: Buffer[] = []
  let bytes = 0
  let isSkipping = false
  for await (let chunk of chunks) {
    for (;;) {
      const end = chunk.indexOf(lineFeed)
      const piece = end < 0 ? chunk : chunk.subarray(0, end)
      bytes += piece.length
      if (!isSkipping && bytes > batchBodyBytesMax) {
        isSkipping = true
        parts = []
        yield tooLong
      }
      if (!isSkipping) parts.push(piece)
      if (end < 0) break
      if (!isSkipping && bytes > 0) yield decodeLine(parts)
      parts = []
      bytes = 0
      isSkipping = false
      chunk = chunk.subarray(end + 1)
    }
  }
  if (!isSkipping && bytes > 0) yield decodeLine(parts)
}
