import { S3Failure, toCallersError } from './failure.ts'
import { openRange, type Range, type RangeStream } from './range-stream.ts'
import type { S3Requests } from './requests.ts'

// An answer that nobody reads costs a connection and up to 2 MB, which Bun reads ahead, and Bun has 256 connections at once.
// So a reader that pauses loses its request. When it goes on, it gets the next bytes with small requests, one at a time,
// until it has shown that it is fast again. Blobs are immutable, so the parts fit.

const partBytes = 256 * 1024
/** After this many parts without a pause, the rest is one request again. */
const partsMin = 8

/**
 * The bytes of an object from `start` to before `end`, at least one. When it resolves, the first of them have arrived. Throws
 * S3Failure until then; the stream throws CubbyError.
 */
export const openDownload = async (requests: S3Requests, range: Range): Promise<AsyncIterable<Uint8Array>> => {
  const cancelled = new AbortController()
  const stream = await openRange(requests, range, cancelled.signal)
  return new Download(requests, range, stream, cancelled)
}

/** A generator would not do: `return` of one that has not begun would not end the request. */
class Download implements AsyncIterableIterator<Uint8Array> {
  readonly #requests: S3Requests
  readonly #name: string
  readonly #end: number
  readonly #cancelled: AbortController
  #at: number
  /** Undefined while the reader is slow. */
  #stream: RangeStream | undefined
  #partsTaken = 0
  #pause: ReturnType<typeof setTimeout> | undefined

  constructor(requests: S3Requests, { name, start, end }: Range, stream: RangeStream, cancelled: AbortController) {
    this.#requests = requests
    this.#name = name
    this.#at = start
    this.#end = end
    this.#stream = stream
    this.#cancelled = cancelled
    this.#expectReader()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    clearTimeout(this.#pause)
    if (this.#cancelled.signal.aborted) return { done: true, value: undefined }
    try {
      const chunk = await this.#take()
      if (this.#cancelled.signal.aborted || chunk === undefined) return await this.return()
      this.#at += chunk.length
      this.#expectReader()
      return { done: false, value: chunk }
    } catch (error) {
      if (this.#cancelled.signal.aborted) return { done: true, value: undefined }
      await this.return()
      throw toCallersError(toFailure(error))
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    clearTimeout(this.#pause)
    this.#stream?.end()
    this.#cancelled.abort(new S3Failure('the rest of a download is not needed'))
    return { done: true, value: undefined }
  }

  async #take(): Promise<Uint8Array | undefined> {
    if (this.#stream === undefined && this.#partsTaken >= partsMin) this.#stream = await this.#open(this.#end)
    if (this.#stream !== undefined) return this.#stream.next()
    if (this.#at === this.#end) return undefined
    this.#partsTaken += 1
    return this.#readPart()
  }

  #open(end: number): Promise<RangeStream> {
    return openRange(this.#requests, { name: this.#name, start: this.#at, end }, this.#cancelled.signal)
  }

  async #readPart(): Promise<Uint8Array> {
    const part = await this.#open(Math.min(this.#end, this.#at + partBytes))
    const chunks: Uint8Array[] = []
    try {
      for (let chunk = await part.next(); chunk !== undefined; chunk = await part.next()) chunks.push(chunk)
    } finally {
      part.end()
    }
    return Buffer.concat(chunks)
  }

  #expectReader(): void {
    this.#pause = setTimeout(() => {
      this.#stream?.end()
      this.#stream = undefined
      this.#partsTaken = 0
    }, this.#requests.timing.readerPauseMsMax)
  }
}

const toFailure = (error: unknown): S3Failure => {
  if (error instanceof S3Failure) return error
  const { code, name } = error as { code?: unknown; name?: unknown }
  return new S3Failure('a download broke off:', { code: String(code ?? name) })
}
