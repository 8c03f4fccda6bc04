import { setTimeout as sleep } from 'node:timers/promises'
import type { Awaitable } from '../core/awaitable.ts'
import type { FeedPlace } from '../core/changes/changes-cursor.ts'
import { CubbyError } from '../core/errors.ts'
import { pageBytesMax } from '../core/limits.ts'
import type { Access } from '../operations/access.ts'
import { changeJson, placeAt, readFeed } from '../operations/changes/feed-pages.ts'
import type { OpenFeed, ReadChangesInput } from '../operations/changes/read-changes.ts'
import { shareOf } from '../store/api-keys.ts'
import type { Change } from '../store/changes.ts'
import { commentText, eventText, idText, retryText } from './event-text.ts'
import type { FeedRoom } from './feed-room.ts'

/** At most this much is passed to the socket at once: Bun keeps a copy of what the socket does not accept. */
const pieceBytes = 32 * 1024
/** When this much waits for its reader, a stream no longer gets what comes: it reads the log itself when its reader has caught up. */
const waitingBytesMax = 128 * 1024
/** A page of a stream has about this much, and at most so many items: each needs a cursor of its own. */
const pageBytes = 64 * 1024
const pageItemsMax = 200
/** A page that the store could not read for now is read again after this time. */
const repeatMs = 1_000

const encoder = new TextEncoder()

/** A part of the log that was read for all streams of a table. */
export interface Batch {
  readonly from: FeedPlace
  readonly to: FeedPlace
  readonly changes: readonly Change[]
}

/** Events as they are sent, and the entry of the last id in them. */
export interface Events {
  readonly bytes: Uint8Array
  readonly toldAfter: number
}

/** The reader of a log that serves all streams of the table which have caught up. */
export interface Hub {
  /** False, and nothing has happened, if the stream has not caught up with it. */
  join(stream: ChangeStream): boolean
  leave(stream: ChangeStream): void
  /** Up to here a stream that has joined, and is not further itself, has everything. */
  readonly delivered: FeedPlace
}

/** What a stream needs of its exchange. */
interface StreamExchange {
  readonly request: Request
  readonly requestId: string
  readonly signal: AbortSignal
  readonly access: Access
  readonly nowMs: number
  authenticate(): Awaitable<void>
  turn(): Promise<void>
  now(): number
}

/** The request of a stream, and the parts of the server that it needs. */
export interface StreamOptions {
  readonly exchange: StreamExchange
  readonly input: ReadChangesInput
  readonly feed: OpenFeed
  /** Where it begins. */
  readonly place: FeedPlace
  /** What was committed up to this entry is sent before the stream is ready. */
  readonly readySeq: number
  readonly hub: Hub
  readonly room: FeedRoom
  /** The body of an error, as JSON. */
  errorBody(error: CubbyError): string
  /** Called once, when it is over, for whatever reason. */
  onEnd(): void
  /** Called for faults of the server. */
  onFault(error: unknown): void
}

/** Whether the same may succeed a moment later. */
const isPassing = (error: unknown): boolean => error instanceof CubbyError && error.code === 'unavailable'

const internal = (): CubbyError =>
  new CubbyError('internal', 'The server failed to read the changes.', {
    hint: 'This is a fault of the server; its log has the cause under this requestId.',
  })

const later = (a: FeedPlace, b: FeedPlace): FeedPlace => (b.after > a.after ? placeAt(b, a) : a)

/** One stream of changes. It reads pages until it has caught up with the hub of its table, which then brings what comes. */
export class ChangeStream {
  readonly body: ReadableStream<Uint8Array>
  readonly exchange: StreamExchange
  readonly input: ReadChangesInput
  readonly feed: OpenFeed
  /** Something was sent last at this time. */
  sentAtMs = performance.now()
  /** Bytes that were passed to the socket, with their framing. */
  sentBytes = 0
  readonly #options: StreamOptions
  readonly #orgId: number
  readonly #keySeq: number
  #place: FeedPlace
  /** The place of the last id. */
  #toldAfter = -1
  /** What was committed up to this entry, or to a record that the walk has read, is sent before the stream is ready. */
  #readySeq: number
  #isReady = false
  /** Bytes that wait for the socket, and how much of the first was passed to it. */
  #queue: Uint8Array[] = []
  #firstAt = 0
  /** Bytes that wait or are with the socket, which count in the room. */
  #heldBytes = 0
  /** The piece that is with the socket. */
  #pieceBytes = 0
  #isWanted = false
  #isLive = false
  #isEnding = false
  #isOver = false
  #itemsMax = pageItemsMax
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #drained: (() => void) | undefined

  constructor(options: StreamOptions) {
    const { exchange, input, feed, place, readySeq } = options
    this.#options = options
    this.#readySeq = readySeq
    this.exchange = exchange
    this.input = input
    this.feed = feed
    this.#place = place
    this.#orgId = exchange.access.apiKey.orgId
    this.#keySeq = shareOf(exchange.access.apiKey)
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.#pull(),
        cancel: () => this.#finish(),
      },
      { highWaterMark: 0 },
    )
  }

  begin(): void {
    const { signal } = this.exchange
    signal.addEventListener('abort', () => this.#finish())
    // Bun sends the head of the answer with its first bytes.
    this.#add(retryText())
    if (signal.aborted) this.#finish()
    else this.#noteReady()
    void this.#catchUp()
  }

  get hash(): string | undefined {
    return this.feed.reader.query.hash
  }

  get withData(): boolean {
    return this.feed.reader.query.withData
  }

  get place(): FeedPlace {
    return this.#place
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get isEnding(): boolean {
    return this.#isEnding
  }

  /** Bytes that were passed on and that the socket may not have accepted. */
  get passedBytes(): number {
    return this.#pieceBytes
  }

  get isWaitingForReader(): boolean {
    return this.#heldBytes > 0
  }

  /** Takes the events of a batch; false if too much waits for the reader. */
  deliver(batch: Batch, events: Events): boolean {
    const { from, to } = batch
    if (this.#place.after >= to.after) return true
    const isAhead = this.#place.after > from.after || this.#place.seen.seq > to.seen.seq
    const { bytes, toldAfter } = isAhead ? this.#eventsOf(batch) : events
    if (bytes.length > 0 && !this.#tryAdd(bytes)) return false
    this.#toldAfter = toldAfter
    this.moveTo(to)
    return true
  }

  /** Everything for it up to this place was sent. */
  moveTo(to: FeedPlace): void {
    this.#place = later(this.#place, to)
    this.#noteReady()
  }

  /** The hub brings nothing any more. */
  fallBehind(): void {
    this.#leaveHub()
    void this.#catchUp()
  }

  /** Something is sent now and then, so that both ends notice if the connection is gone. */
  breakSilence(): void {
    if (this.#isEnding || this.isWaitingForReader) return
    if (this.#isLive) this.#place = later(this.#place, this.#options.hub.delivered)
    if (this.#place.after === this.#toldAfter) this.#add(commentText)
    else this.#add(idText(this.#cursor()))
  }

  /** Says why, and ends when that was read. */
  end(error: unknown): void {
    if (this.#isEnding || this.#isOver) return
    this.#isEnding = true
    this.#leaveHub()
    if (!(error instanceof CubbyError)) this.#options.onFault(error)
    this.#add(eventText('end', this.#options.errorBody(error instanceof CubbyError ? error : internal())))
    this.#drained?.()
  }

  /** Breaks its connection. */
  cut(): void {
    if (this.#isOver) return
    this.#finish()
    // Bun resets the connection. No error value: Bun may print it.
    this.#controller.error(undefined)
  }

  #cursor(): string {
    this.#toldAfter = this.#place.after
    return this.feed.cursors.encode(this.#place)
  }

  /** The events of a batch that it does not have yet, with its own cursors: it knows more of the store than they do. */
  #eventsOf({ changes, to }: Batch): Events {
    const { after } = this.#place
    const { seen } = placeAt(to, this.#place)
    let text = ''
    let toldAfter = this.#toldAfter
    for (const change of changes) {
      const key = change.op === 'put' ? change.record : change.key
      if (change.seq <= after || (this.hash !== undefined && this.hash !== key.hashKey)) continue
      const id = this.feed.cursors.encode({ after: change.seq, seen })
      text += eventText(change.op, changeJson(change, this.withData), id)
      toldAfter = change.seq
    }
    return { bytes: encoder.encode(text), toldAfter }
  }

  #noteReady(): void {
    const { walked, after } = this.#place
    if (this.#isReady || walked !== undefined || after < this.#readySeq) return
    this.#isReady = true
    this.#add(eventText('ready', '{}', this.#cursor()))
  }

  #leaveHub(): void {
    if (!this.#isLive) return
    this.#isLive = false
    this.#place = later(this.#place, this.#options.hub.delivered)
    this.#options.hub.leave(this)
  }

  async #catchUp(): Promise<void> {
    try {
      for (;;) {
        await this.#untilDrained()
        if (this.#isEnding || this.#isOver) return
        // From the comparison on, the hub brings what comes: there is no await between them.
        this.#isLive = this.#options.hub.join(this)
        if (this.#isLive) return
        await this.#addPage()
      }
    } catch (error) {
      this.end(error)
    }
  }

  async #addPage(): Promise<void> {
    const { exchange, room } = this.#options
    await room.enter(this.#orgId, this.#keySeq, pageBytesMax)
    try {
      if (this.#isEnding || this.#isOver) return
      await exchange.turn()
      const page = await readFeed(this.feed.reader, this.#place, exchange.now(), this.#itemsMax)
      if (this.#isEnding || this.#isOver) return
      const { cursors } = this.feed
      const text = page.items.map(({ op, json, place }) => eventText(op, json, cursors.encode(place))).join('')
      if (this.#place.walked !== undefined) this.#readySeq = page.head.seq
      this.#place = page.place
      if (page.items.length > 0) {
        this.#itemsMax = Math.min(pageItemsMax, Math.ceil((pageBytes * page.items.length) / text.length))
        this.#toldAfter = page.items.at(-1)!.place.after
        this.#add(text)
      }
      this.#noteReady()
    } catch (error) {
      if (!isPassing(error)) throw error
      await sleep(repeatMs)
    } finally {
      room.give(this.#orgId, this.#keySeq, pageBytesMax)
    }
  }

  #untilDrained(): Promise<void> | undefined {
    if (!this.isWaitingForReader || this.#isEnding || this.#isOver) return undefined
    return new Promise((resolve) => {
      this.#drained = resolve
    })
  }

  #add(text: string): void {
    const bytes = encoder.encode(text)
    this.#options.room.take(this.#orgId, this.#keySeq, bytes.length)
    this.#push(bytes)
  }

  #tryAdd(bytes: Uint8Array): boolean {
    if (this.#heldBytes > 0 && this.#heldBytes + bytes.length > waitingBytesMax) return false
    if (!this.#options.room.tryTake(this.#orgId, this.#keySeq, bytes.length)) return false
    this.#push(bytes)
    return true
  }

  #push(bytes: Uint8Array): void {
    this.#heldBytes += bytes.length
    this.#queue.push(bytes)
    this.#send()
  }

  /** Bun asks for a piece when the socket has accepted the one before. */
  #pull(): void {
    this.#isWanted = true
    this.#release(this.#pieceBytes)
    this.#pieceBytes = 0
    this.#send()
  }

  #send(): void {
    if (!this.#isWanted || this.#isOver) return
    const piece = this.#takePiece()
    if (piece !== undefined) {
      this.#isWanted = false
      this.#pieceBytes = piece.length
      // The length of a chunk in hexadecimal digits, and two line ends.
      this.sentBytes += piece.length + piece.length.toString(16).length + 4
      this.sentAtMs = performance.now()
      this.#controller.enqueue(piece)
      return
    }
    if (this.#isEnding) {
      this.#finish()
      this.#controller.close()
    }
    this.#drained?.()
    this.#drained = undefined
  }

  #takePiece(): Uint8Array | undefined {
    const parts: Uint8Array[] = []
    for (let left = pieceBytes; left > 0 && this.#queue.length > 0; ) {
      const first = this.#queue[0]!
      const part = first.subarray(this.#firstAt, this.#firstAt + left)
      parts.push(part)
      left -= part.length
      this.#firstAt += part.length
      if (this.#firstAt < first.length) continue
      this.#queue.shift()
      this.#firstAt = 0
    }
    return parts.length > 1 ? Buffer.concat(parts) : parts[0]
  }

  #release(bytes: number): void {
    this.#heldBytes -= bytes
    this.#options.room.give(this.#orgId, this.#keySeq, bytes)
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#isEnding = true
    this.#leaveHub()
    this.#release(this.#heldBytes)
    this.#queue = []
    this.#drained?.()
    this.#drained = undefined
    this.#options.onEnd()
  }
}
