import { S3Failure } from './failure.ts'
import type { S3Requests } from './requests.ts'
import type { TimeBudget } from './time-budget.ts'

export interface Range {
  name: string
  start: number
  /** The first byte that is not wanted; above `start`. */
  end: number
}

interface Chunk {
  /** Undefined at the end. */
  value?: Uint8Array
}

interface Reader {
  read(): Promise<Chunk>
}

/** Sends the request. When it resolves, the first bytes have arrived. Throws S3Failure. */
export const openRange = (requests: S3Requests, range: Range, signal: AbortSignal): Promise<RangeStream> => {
  const { name, start, end } = range
  const request = { method: 'GET', name, headers: { range: `bytes=${start}-${end - 1}` } } as const
  const use = async (response: Response, budget: TimeBudget): Promise<RangeStream> => {
    checkRange(response, range)
    const stream = new RangeStream(response.body!.getReader(), budget, end - start, requests.timing.progressMsMax)
    await stream.begin()
    return stream
  }
  return requests.send(request, use, signal)
}

/** A server or a proxy that ignores or changes the range must not give out other bytes. */
const checkRange = ({ status, headers }: Response, { start, end }: Range): void => {
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

/** One answer with the bytes of a range. */
export class RangeStream {
  readonly #reader: Reader
  readonly #budget: TimeBudget
  readonly #progressMsMax: number
  #left: number
  #first: Uint8Array | undefined

  constructor(reader: Reader, budget: TimeBudget, bytes: number, progressMsMax: number) {
    this.#reader = reader
    this.#budget = budget
    this.#left = bytes
    this.#progressMsMax = progressMsMax
  }

  async begin(): Promise<void> {
    this.#first = await this.#read()
  }

  /** Returns undefined at the end. Throws if the end comes too early: a connection may end without an error. */
  async next(): Promise<Uint8Array | undefined> {
    const chunk = this.#first ?? (await this.#read())
    this.#first = undefined
    return chunk
  }

  /** Ends the request, if it is not over. */
  end(): void {
    this.#budget.end(new S3Failure('the rest of a download is not needed'))
  }

  async #read(): Promise<Uint8Array | undefined> {
    this.#budget.wait(this.#progressMsMax)
    const { value } = await this.#reader.read()
    this.#budget.rest()
    if (value === undefined && this.#left > 0) throw new S3Failure(`a download ended ${this.#left} bytes too early`)
    this.#left -= value?.length ?? 0
    if (this.#left < 0) throw new S3Failure('a download had more bytes than were asked for')
    return value
  }
}
