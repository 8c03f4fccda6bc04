import { CubbyError } from '../core/errors.ts'
import { responsesUnsentBytesMax } from '../core/limits.ts'
import { type Holder, Shares } from '../core/shares.ts'
import { noteStream } from './response-notes.ts'
import { type ResponseStream, type SentChunks, sendChunks } from './response-stream.ts'
import { Rooms } from './rooms.ts'

/** Shorter answers are passed to the socket at once: the system's buffers hold nearly all of them. */
const streamedFromBytes = 32 * 1024
const pieceBytes = 256 * 1024

/**
 * The pieces of a file are smaller until the system can no longer hold all that was sent for a reader that takes nothing. The
 * last piece counts as taken, because nobody knows how much of it is: a large one would make that reader look quick for long.
 */
const firstPieceBytes = 64 * 1024
const firstPiecesUntilBytes = 8 * 1024 * 1024
const filePieceBytesAt = (sentBytes: number): number =>
  sentBytes < firstPiecesUntilBytes ? firstPieceBytes : pieceBytes

/**
 * This much room is left for files that are sent as a stream: nobody knows how much of a whole one was taken, and it cannot be
 * cut.
 */
const streamsBytes = responsesUnsentBytesMax / 8

/**
 * Bun does not collect a response of this length or more that is not a stream: outside of the event of its socket, each part of
 * each header is a system call of its own, 40 in all. That took 0.2 of the 0.45 ms of a page of 50 records.
 */
const uncollectedFromBytes = 15 * 1024

/** The collector is called when texts of this length were refused. */
const collectedFromUnits = 128 * 1024 * 1024

const encoder = new TextEncoder()

export type ResponseBody = string | ReadableStream<Uint8Array>

export const unread = (): CubbyError =>
  new CubbyError('unavailable', 'Too many large answers to this API key are still unread.', {
    hint: 'Read the answers to earlier requests, then repeat this one; or ask for less with a smaller limit.',
  })

/** The body of an answer that needs no room. */
export const sentAtOnce = (text: string): ResponseBody =>
  isCollected(text) ? text : noteStream(wholeAtOnce(text), text)

/** A unit of a text has at most three bytes, so most texts need not be measured. */
const isCollected = (text: string): boolean =>
  text.length < uncollectedFromBytes / 3 || Buffer.byteLength(text) < uncollectedFromBytes

const wholeAtOnce = (text: string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    type: 'direct',
    pull(controller) {
      controller.write(text)
      controller.end()
    },
  })

/** A stream that produces the next piece when the socket has accepted the previous one. */
const inPieces = (bytes: Uint8Array, over: () => void): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.length) {
          controller.enqueue(bytes.subarray(at, at + pieceBytes))
          at += pieceBytes
          return
        }
        over()
        controller.close()
      },
      cancel: over,
    },
    { highWaterMark: 0 },
  )
}

/**
 * Limits the bytes of answers that sockets have not accepted yet: in total, per organization and per API key. Bun keeps an
 * answer that is a string in memory until its client has read it. It requests a stream piece by piece, and we know when the
 * stream ends.
 */
export class ResponseBodies {
  readonly #unsent = new Shares(responsesUnsentBytesMax, () => this.rooms.wake())
  /** The same room, for answers that are being built. */
  readonly rooms = new Rooms(this.#unsent)
  #refusedUnits = 0
  #unreadCount = 0

  /** Requests that were refused for want of room, at once or after a wait. */
  get refused(): { unread: number; late: number } {
    return { unread: this.#unreadCount, late: this.rooms.lateCount }
  }

  #unread(): CubbyError {
    this.#unreadCount++
    return unread()
  }

  /** Call it before a write, because its answer cannot be rejected afterwards. Throws `unavailable` if there is no room. */
  refuseIfFull(orgId: number, keySeq: number): void {
    if (!this.#unsent.hasRoom(orgId, keySeq, 1)) throw this.#unread()
  }

  /**
   * The text as the body of an answer; undefined for a small text, which uses no room. The room of a large text is released
   * when the socket has accepted all of it or is closed; then `over` is called. A read without room throws `unavailable`.
   */
  stream(
    { orgId, keySeq }: Holder,
    text: string,
    isRead: boolean,
    over: () => void,
  ): ReadableStream<Uint8Array> | undefined {
    if (text.length < streamedFromBytes) return undefined
    // It has at least as many bytes as characters. What is refused is not made first.
    if (isRead && !this.#unsent.hasRoom(orgId, keySeq, text.length)) throw this.#refuse(text)
    const bytes = encoder.encode(text)
    if (isRead && !this.#unsent.hasRoom(orgId, keySeq, bytes.length)) throw this.#refuse(text)
    this.#unsent.take(orgId, keySeq, bytes.length)
    let isHeld = true
    return inPieces(bytes, () => {
      if (!isHeld) return
      isHeld = false
      this.#unsent.give(orgId, keySeq, bytes.length)
      over()
    })
  }

  /**
   * A caller that does not read can have large texts made faster than the collector takes them: 270 MB were seen of 1,000 gets
   * of a large record, at most 180 MB with this. It takes about 18 ms, for several hundred such requests.
   */
  #refuse(text: string): CubbyError {
    this.#refusedUnits += text.length
    if (this.#refusedUnits >= collectedFromUnits) {
      this.#refusedUnits = 0
      Bun.gc(true)
    }
    return this.#unread()
  }

  /** Room for a file that is sent at once. Undefined if there is none; otherwise call the result once, when it was read. */
  takeRoom({ orgId, keySeq }: Holder, bytes: number): (() => void) | undefined {
    if (!this.#unsent.hasRoom(orgId, keySeq, bytes + streamsBytes)) return undefined
    this.#unsent.take(orgId, keySeq, bytes)
    return () => this.#unsent.give(orgId, keySeq, bytes)
  }

  /** Room for a file that is a stream, whose source must be opened first: give it back just before `streamFile` takes it. */
  takePiece({ orgId, keySeq }: Holder): (() => void) | undefined {
    if (!this.#unsent.tryTake(orgId, keySeq, pieceBytes)) return undefined
    return () => this.#unsent.give(orgId, keySeq, pieceBytes)
  }

  /**
   * A file that is read while it is sent. It uses room for one piece, or for what is left of one chunk of its source if that
   * is more.
   */
  streamFile({ orgId, keySeq }: Holder, answer: ResponseStream): SentChunks {
    // The stream holds as much as a chunk of a file has: others that come before its first one must not get the same room.
    let heldBytes = pieceBytes
    this.#unsent.take(orgId, keySeq, heldBytes)
    const hold = (bytes: number): void => {
      const more = Math.max(bytes, firstPieceBytes) - heldBytes
      if (more > 0) this.#unsent.take(orgId, keySeq, more)
      else this.#unsent.give(orgId, keySeq, -more)
      heldBytes += more
    }
    const release = (): void => {
      this.#unsent.give(orgId, keySeq, heldBytes)
      heldBytes = 0
    }
    return sendChunks(answer, filePieceBytesAt, hold, release)
  }
}
