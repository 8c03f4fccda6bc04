import { CubbyError, refusal } from '../transport/errors.ts'
import { describeNetworkError } from '../transport/network-error.ts'

/** A range as in `Blob.slice`: from `start` up to, and not including, `end`. A negative `start` means the last bytes. */
export interface ByteRange {
  start: number
  end?: number
}

/** The value of the header `Range`. */
export const rangeHeader = ({ start, end }: ByteRange): string => {
  const last = start < 0
  // A server ignores a malformed range and sends all bytes.
  if (!Number.isInteger(start) || !(end === undefined || (!last && Number.isInteger(end) && end > start))) {
    throw refusal('invalid_request', 'range', `is ${start} to ${end}; it takes integers, and an end after the start.`)
  }
  return `bytes=${start}${last ? '' : `-${end === undefined ? '' : end - 1}`}`
}

/**
 * A file that is being downloaded. Its bytes can be read once, in one of the four ways. If you do not need them, cancel
 * `body`, so that the connection is free.
 */
export class FileDownload {
  /** @internal */
  static readonly name: string = 'FileDownload'
  readonly contentType: string
  /** Hex. */
  readonly sha256: string
  /**
   * The size of the whole file in bytes. It is undefined if the response has no length: the server sends whole files of more
   * than 1 MiB in chunks (smaller ones too when it is busy), and a proxy may compress a response. `describe` always has the
   * size.
   */
  readonly size: number | undefined
  /** The part of the file that was sent; undefined if it is the whole file. */
  readonly range: { start: number; end: number } | undefined
  readonly #response: Response
  readonly #signal: AbortSignal | undefined
  /** Set when the caller has asked for it: the other ways need no stream. */
  #body: Response['body'] | undefined

  /** Call `bucket.get` instead. */
  constructor(response: Response, signal?: AbortSignal) {
    const header = (name: string) => response.headers.get(name) ?? ''
    // bytes 0-9/100
    const [, start, last, total] = /(\d+)-(\d+)\/(\d+)/.exec(header('content-range')) ?? []
    this.contentType = header('content-type')
    this.sha256 = header('etag').replace(/W\/|"/g, '')
    const size = total ?? header('content-length')
    this.size = size ? Number(size) : undefined
    this.range = last === undefined ? undefined : { start: Number(start), end: Number(last) + 1 }
    this.#response = response
    this.#signal = signal
  }

  /** The bytes as they arrive. If the connection breaks, reading them fails with the runtime's error. */
  get body(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#body = this.#response.body
    return this.#body!
  }

  blob(): Promise<Blob> {
    return this.#read(() => this.#response.blob())
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await this.#read(() => this.#response.arrayBuffer()))
  }

  text(): Promise<string> {
    return this.#read(() => this.#response.text())
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    if (this.#response.bodyUsed || this.#body?.locked) {
      const message = 'The bytes of a download can be read once, and they have been read or are being read.'
      throw new CubbyError('invalid_request', message, {
        hint: 'Keep what the first call returned, or call get again.',
      })
    }
    try {
      return await read()
    } catch (cause) {
      this.#signal?.throwIfAborted()
      const { why, hint } = describeNetworkError(cause)
      throw new CubbyError('unavailable', `The download broke off: ${why}`, { cause, hint })
    }
  }
}
