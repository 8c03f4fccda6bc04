import { CubbyError } from '../index.ts'
import { iteratorOf } from '../transport/iterator-of.ts'
import { readRetryAfterMs, tokenRefusals } from '../transport/retry.ts'
import type { Call, Send } from '../transport/transport.ts'
import type { ErrorResponse } from '../transport/wire.ts'
import type { ChangesRequest, ChangesResponse } from '../transport/wire-changes.ts'
import { pauseUntil } from '../worker/pause.ts'
import { isRefusal } from '../worker/refusal.ts'
import { EventParser, type StreamEvent } from './event-parser.ts'
import { StreamPlace } from './stream-place.ts'

/** The server sends something at once. A stream of which nothing has arrived by then does not come through. */
const firstBytesMs = 6_000
/** The server sends something every 15 s. */
const silenceMs = 40_000
/** So many streams in a row may end without an event. */
const emptyStreamsMax = 3
const waitSeconds = 20
/** A server that is stopping answers a wait at once. */
const waitMsMin = 1_000
/** Without a right to hold a connection open, pages are read so often. */
export const pollMs = 5_000
const delayMsMax = 30_000
const timerMsMax = 2 ** 31 - 1

/** An item, the place after it, or both. Within a page only the last item has a place. */
interface Step<Item> {
  item?: Item | undefined
  cursor?: string | undefined
}

interface FeedStart {
  send: Send
  /** That of the changes of a table. */
  path: string
  /** The rest of the request. */
  fields: object
  cursor: string | null
  /** Used without a cursor. */
  from?: ChangesRequest['from']
}

/** A retry cannot fix it. */
export const isFinal = (error: unknown): boolean =>
  isRefusal(error) || (error instanceof CubbyError && error.code === 'store_damaged')

/**
 * Reads the changes of a table by stream, or by pages that wait where streams do not come through. After a failure it goes on from
 * the last place. The cursor is in the body, not in `Last-Event-ID`: so a stream and a page are the same request, and a cursor may be
 * longer than proxies let headers be.
 */
export class Feed<Item> {
  readonly #start: FeedStart
  readonly #signal: AbortSignal
  #cursor: string | null
  /** Failures in a row. */
  #failures = 0
  #retryMs = 1_000
  #retryAfterMs = 0
  #emptyStreams = 0
  /** Streams do not come through. */
  #isWaiting = false
  #hasWaited = false
  /** The error with which the server has ended the stream. */
  #end: CubbyError | undefined

  /** When the signal aborts, the steps end. */
  constructor(start: FeedStart, signal: AbortSignal) {
    this.#start = start
    this.#signal = signal
    this.#cursor = start.cursor
  }

  /** Throws what a retry cannot fix. Nothing is read ahead but what has arrived at once. */
  async *steps(): AsyncGenerator<Step<Item>, void> {
    const place = new StreamPlace()
    try {
      while (!this.#signal.aborted) await pauseUntil(yield* this.#round(place), this.#signal)
    } finally {
      place.leave()
    }
  }

  /** One request. Returns the pause before the next one. */
  async *#round(place: StreamPlace): AsyncGenerator<Step<Item>, number> {
    const { from } = this.#start
    const isWaiting = this.#isWaiting
    this.#retryAfterMs = 0
    try {
      // Whatever breaks after this, the place is known.
      if (this.#cursor === null && from === 'now') {
        yield* this.#readPage(0)
        return 0
      }
      if (!place.take()) return (yield* this.#readPage(0)).more ? 0 : pollMs
      if (isWaiting) return yield* this.#wait()
      yield* this.#readStream()
    } catch (error) {
      if (this.#signal.aborted) return 0
      if (error === this.#end || isFinal(error)) throw error
      // Perhaps it was the server and not the stream that did not answer.
      if (isWaiting) this.#isWaiting = this.#hasWaited = false
    }
    if (this.#emptyStreams >= emptyStreamsMax) {
      this.#isWaiting = true
      this.#emptyStreams = 0
    }
    return this.#isWaiting ? 0 : this.#backoffMs()
  }

  #backoffMs(): number {
    const failures = this.#failures++
    // The server draws the first pause for each stream, so that not all come back at once.
    const delayMs =
      failures === 0
        ? this.#retryMs
        : Math.min(delayMsMax, this.#retryMs * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2)
    return Math.min(timerMsMax, Math.max(delayMs, this.#retryAfterMs))
  }

  #call(members: object): Call {
    const { path, fields, from } = this.#start
    const place = this.#cursor === null ? { from } : { cursor: this.#cursor }
    return {
      method: 'POST',
      path,
      effect: 'read',
      body: JSON.stringify({ ...fields, ...place, ...members }),
      exchange: (fetchFrom) => async (url, init) => {
        const response = await fetchFrom(url, init)
        this.#retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'))
        return response
      },
    }
  }

  #moveTo(cursor: string): void {
    this.#cursor = cursor
    this.#failures = 0
  }

  async *#readPage(seconds: number): AsyncGenerator<Step<Item>, ChangesResponse<Item>> {
    const page = await this.#start.send<ChangesResponse<Item>>(
      { ...this.#call({ waitSeconds: seconds || undefined }), waitMs: seconds * 1000 },
      { signal: this.#signal, retries: 0 },
    )
    const { items, cursor } = page
    this.#moveTo(cursor)
    if (items.length === 0) yield { cursor }
    for (const [i, item] of items.entries()) yield { item, cursor: i + 1 === items.length ? cursor : undefined }
    return page
  }

  /** The first page does not wait: it shows whether the server answers at all. */
  async *#wait(): AsyncGenerator<Step<Item>, number> {
    const askedMs = performance.now()
    const seconds = this.#hasWaited ? waitSeconds : 0
    const { items, more } = yield* this.#readPage(seconds)
    this.#hasWaited = true
    return more || items.length > 0 || seconds === 0 ? 0 : Math.max(0, askedMs + waitMsMin - performance.now())
  }

  async *#readStream(): AsyncGenerator<Step<Item>, void> {
    const connection = new AbortController()
    const close = () => connection.abort()
    this.#signal.addEventListener('abort', close)
    let timer = setTimeout(() => {
      this.#isWaiting = true
      close()
    }, firstBytesMs)
    let chunks: AsyncIterator<Uint8Array, unknown> | undefined
    try {
      const response = await this.#start.send<Response>(
        { ...this.#call({}), raw: true, headers: { accept: 'text/event-stream' } },
        { signal: connection.signal, retries: 0, timeoutMs: timerMsMax },
      )
      if (!response.body || !/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
        this.#isWaiting = true
        return
      }
      this.#emptyStreams++
      chunks = iteratorOf<Uint8Array>(response.body)
      const parser = new EventParser()
      const decoder = new TextDecoder()
      for (;;) {
        const { done, value } = await chunks.next()
        // Nobody waits for the server while the items are handled.
        clearTimeout(timer)
        if (done) return
        for (const event of parser.add(decoder.decode(value as Uint8Array, { stream: true }))) yield this.#stepOf(event)
        this.#retryMs = Math.min(delayMsMax, parser.retryMs ?? this.#retryMs)
        timer = setTimeout(close, silenceMs)
      }
    } finally {
      clearTimeout(timer)
      this.#signal.removeEventListener('abort', close)
      close()
      chunks?.return?.().then(undefined, () => {})
    }
  }

  #stepOf({ type, data, id }: StreamEvent): Step<Item> {
    this.#emptyStreams = 0
    if (type === 'end') this.#endBy(JSON.parse(data))
    const item = type === 'put' || type === 'delete' ? (JSON.parse(data) as Item) : undefined
    if (id !== undefined) this.#moveTo(id)
    return { item, cursor: id }
  }

  #endBy({ error }: ErrorResponse): never {
    const end = new CubbyError(error.code, error.message, { ...error, status: 200 })
    // With the next token it may go on.
    const mayGoOn = error.code === 'unavailable' || error.code === 'internal' || tokenRefusals.test(error.code)
    if (!mayGoOn) this.#end = end
    throw end
  }
}
