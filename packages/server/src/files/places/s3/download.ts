import { S3Failure, toCallersError } from './failure.ts'
import type { Patience } from './patience.ts'
import type { S3Requests } from './requests.ts'

/** A download that nobody takes anything of for this long is ended. The server's own limit is far shorter. */
const untakenMsMax = 5 * 60_000

interface Chunk {
  /** Undefined at the end. */
  value?: Uint8Array
}

interface Reader {
  read(): Promise<Chunk>
}

/**
 * The bytes of an object from `start` to before `end`, at least one. When it resolves, the first of them have arrived. Throws
 * S3Failure until then; the stream throws CubbyError.
 */
export const openDownload = (
  requests: S3Requests,
  name: string,
  start: number,
  end: number,
): Promise<AsyncIterable<Uint8Array>> =>
  requests.send({ method: 'GET', name, headers: { range: `bytes=${start}-${end - 1}` } }, async (answer, patience) => {
    checkRange(answer, start, end)
    const reader = answer.body!.getReader()
    const first = await reader.read()
    const download = new Download(reader, patience, end - start, requests.timing.progressMsMax)
    return download.begin(first)
  })

/** A server or a proxy that ignores or changes the range must not give out other bytes. */
const checkRange = ({ status, headers }: Response, start: number, end: number): void => {
  const length = headers.get('content-length')
  const range = headers.get('content-range')
  const [, first, last] = /^bytes (\d+)-(\d+)\/(?:\d+|\*)$/.exec(range ?? '') ?? []
  const isRange = status === 206 && Number(first) === start && Number(last) === end - 1
  const isWhole = status === 200 && start === 0 && length === String(end)
  if ((isRange || isWhole) && (length === null || Number(length) === end - start)) return
  throw new S3Failure(`S3 answered bytes=${start}-${end - 1} with "${range?.slice(0, 64)}", length ${length},`, {
    status,
  })
}

/** Not a generator: `return` of one that has not begun would not end the request. */
class Download implements AsyncIterableIterator<Uint8Array> {
  readonly #reader: Reader
  readonly #patience: Patience
  readonly #progressMsMax: number
  #left: number
  #first: Uint8Array | undefined
  #over = false

  constructor(reader: Reader, patience: Patience, bytes: number, progressMsMax: number) {
    this.#reader = reader
    this.#patience = patience
    this.#left = bytes
    this.#progressMsMax = progressMsMax
  }

  begin(first: Chunk): this {
    this.#first = this.#count(first)
    this.#patience.wait(untakenMsMax)
    return this
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#over) return { done: true, value: undefined }
    try {
      const chunk = this.#first ?? (await this.#read())
      this.#first = undefined
      if (chunk !== undefined) {
        this.#patience.wait(untakenMsMax)
        return { done: false, value: chunk }
      }
      this.#end('the download is complete')
    } catch (error) {
      // Cancelled while it waited for bytes.
      if (this.#over) return { done: true, value: undefined }
      this.#end('the download failed')
      const { code } = error as { code?: unknown }
      throw toCallersError(
        error instanceof S3Failure ? error : new S3Failure('a download broke off:', { code: String(code) }),
      )
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#over) this.#end('nobody needs the rest of the download')
    return { done: true, value: undefined }
  }

  async #read(): Promise<Uint8Array | undefined> {
    this.#patience.wait(this.#progressMsMax)
    return this.#count(await this.#reader.read())
  }

  /** Undefined at the end. The number of bytes must be the expected one: a connection may end early without an error. */
  #count({ value }: Chunk): Uint8Array | undefined {
    if (value === undefined && this.#left > 0)
      throw new S3Failure(`a download ended ${this.#left} bytes before its end`)
    if (value === undefined) return undefined
    this.#left -= value.length
    if (this.#left < 0) throw new S3Failure('a download had more bytes than were asked for')
    return value
  }

  #end(reason: string): void {
    this.#over = true
    this.#patience.end(new S3Failure(reason))
  }
}
