import { CubbyError } from '../core/errors.ts'
import { bodiesInFlightBytesMax, bodyMsMax } from '../core/limits.ts'

// ignoreBOM keeps a byte order mark in the text, so that JSON refuses it as the contract says.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const tooLarge = (bytesMax: number): CubbyError =>
  new CubbyError('body_too_large', `The body is larger than ${bytesMax} bytes.`, {
    hint: 'Send less at once: several records in several requests.',
  })

const unavailable = (message: string): CubbyError =>
  new CubbyError('unavailable', message, { hint: 'Repeat the request; nothing was applied.' })

/** The sender went away: nobody hears this, but it is no fault of ours either. */
const cutShort = (): CubbyError => new CubbyError('invalid_request', 'The body ended before it was complete.')

/** Its answer closes the connection: the rest of the body would hold it for as long as the sender likes. */
export class SlowBody extends CubbyError {
  constructor() {
    super('unavailable', `The body did not arrive within ${bodyMsMax / 1000} seconds; nothing was applied.`, {
      hint: 'Send the whole body at once.',
    })
  }
}

interface Reading {
  startedAtMs: number
  expire(): void
}

/**
 * Reads request bodies. What arrives at once is bounded in total, not only each, and a body that trickles is
 * given up after a while. One timer watches all of them: a timer a request would cost more than the request.
 */
export class BodyReader {
  #bytesInFlight = 0
  readonly #readings = new Set<Reading>()
  readonly #watch: Timer

  constructor() {
    this.#watch = setInterval(() => this.#expireOld(performance.now()), 1_000)
    this.#watch.unref()
  }

  stop(): void {
    clearInterval(this.#watch)
  }

  #expireOld(nowMs: number): void {
    // Oldest first: a set keeps the order in which its members came.
    for (const reading of this.#readings) {
      if (nowMs - reading.startedAtMs < bodyMsMax) return
      this.#readings.delete(reading)
      reading.expire()
    }
  }

  /** The body as text; empty when there is none. Checks content type, size and encoding, in that order. */
  async read(request: Request, bytesMax: number): Promise<string> {
    const { headers } = request
    const lengthHeader = headers.get('content-length')
    const length = lengthHeader === null ? undefined : Number(lengthHeader)
    if (length === 0 || (length === undefined && request.body === null)) return ''
    refuseOtherTypes(headers)
    if (length !== undefined && length > bytesMax) throw tooLarge(bytesMax)
    const bytes =
      length === undefined ? await this.#readChunks(request, bytesMax) : await this.#readWhole(request, length)
    try {
      return decoder.decode(bytes)
    } catch {
      throw new CubbyError('invalid_json', 'The body is not valid UTF-8.', { hint: 'Send JSON in UTF-8.' })
    }
  }

  async #readWhole(request: Request, length: number): Promise<Uint8Array> {
    this.#reserve(length)
    try {
      return await this.#withinTime(request.bytes())
    } finally {
      this.#bytesInFlight -= length
    }
  }

  async #readChunks(request: Request, bytesMax: number): Promise<Uint8Array> {
    const reader = request.body!.getReader()
    const chunks: Uint8Array[] = []
    let length = 0
    let givenUp = false
    const collect = async (): Promise<Uint8Array> => {
      for (;;) {
        const { value, done } = await reader.read()
        if (done || givenUp) return Buffer.concat(chunks)
        this.#reserve(value.length)
        length += value.length
        if (length > bytesMax) throw tooLarge(bytesMax)
        chunks.push(value)
      }
    }
    try {
      return await this.#withinTime(collect())
    } catch (error) {
      reader.cancel().catch(() => {})
      throw error
    } finally {
      givenUp = true
      this.#bytesInFlight -= length
    }
  }

  #reserve(bytes: number): void {
    if (this.#bytesInFlight + bytes > bodiesInFlightBytesMax) throw unavailable('Too many bodies are arriving at once.')
    this.#bytesInFlight += bytes
  }

  #withinTime<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const reading = {
        startedAtMs: performance.now(),
        expire: () => reject(new SlowBody()),
      }
      this.#readings.add(reading)
      promise.then(
        (value) => {
          this.#readings.delete(reading)
          resolve(value)
        },
        (error) => {
          this.#readings.delete(reading)
          reject(error instanceof CubbyError ? error : cutShort())
        },
      )
    })
  }
}

const refuseOtherTypes = (headers: Headers): void => {
  const type = headers.get('content-type')
  if (type !== null && type !== 'application/json' && !/^application\/json\s*(?:;|$)/i.test(type.trim())) {
    throw new CubbyError('unsupported_media_type', 'The body is not declared as application/json.', {
      hint: 'Send "Content-Type: application/json".',
    })
  }
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new CubbyError('unsupported_media_type', 'Compressed bodies are not read.', {
      hint: 'Send the body without Content-Encoding.',
    })
  }
}

/** For requests that take none: what would be ignored is refused. */
export const refuseBody = (headers: Headers): void => {
  const length = headers.get('content-length')
  if ((length === null || Number(length) === 0) && !headers.has('transfer-encoding')) return
  refuseOtherTypes(headers)
  throw new CubbyError('invalid_request', 'This request takes no body.', {
    hint: 'Send it without one; keys go in the path, conditions in If-Match.',
  })
}
