import { CubbyError } from '../core/errors.ts'
import { answersUnsentBytesMax } from '../core/limits.ts'
import { type Holder, Shares } from '../core/shares.ts'
import { noteStream } from './answer-notes.ts'
import { type AnswerStream, sendChunks } from './answer-stream.ts'
import { Rooms } from './rooms.ts'

/** Shorter answers are passed to the socket at once: the system's buffers hold nearly all of them. */
const streamedFromBytes = 32 * 1024
const pieceBytes = 256 * 1024

/**
 * From this length on Bun does not collect an answer that is not a stream: outside of the event of its socket, each part of
 * each header is a system call of its own, 40 in all. That took 0.2 of the 0.45 ms of a page of 50 records.
 */
const uncollectedFromBytes = 15 * 1024

/** The collector is called when texts of this length were refused. */
const collectedFromUnits = 128 * 1024 * 1024

const encoder = new TextEncoder()

export type AnswerBody = string | ReadableStream<Uint8Array>

/** The body of an answer that needs no room. */
export const sentAtOnce = (text: string): AnswerBody => (isCollected(text) ? text : noteStream(wholeAtOnce(text), text))

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
export class Answers {
  readonly #unsent = new Shares(answersUnsentBytesMax, () => this.rooms.wake())
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
    return new CubbyError('unavailable', 'Too many large answers to this API key are still unread.', {
      hint: 'Read the answers to earlier requests, then repeat this one; or ask for less with a smaller limit.',
    })
  }

  /** Called before a write, because its answer cannot be rejected afterwards. Throws `unavailable` if there is no room. */
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

  /** Room for bytes that are sent at once. Undefined if there is none; otherwise call the result once, when they were read. */
  takeRoom({ orgId, keySeq }: Holder, bytes: number): (() => void) | undefined {
    if (!this.#unsent.tryTake(orgId, keySeq, bytes)) return undefined
    return () => this.#unsent.give(orgId, keySeq, bytes)
  }

  /** Room for a stream whose source must be opened first: give it back just before `streamFrom` takes it. */
  takePiece(holder: Holder): () => void {
    const room = this.takeRoom(holder, pieceBytes)
    if (room === undefined) throw this.#unread()
    return room
  }

  /**
   * An answer that is produced while it is sent. It uses room for one piece, or for one chunk of its source if that is
   * larger. A read without room throws `unavailable` and does not start the source.
   */
  streamFrom({ orgId, keySeq }: Holder, answer: AnswerStream, isRead: boolean): ReadableStream<Uint8Array> {
    if (isRead && !this.#unsent.hasRoom(orgId, keySeq, pieceBytes)) throw this.#unread()
    let heldBytes = 0
    const hold = (bytes: number): void => {
      if (bytes <= heldBytes) return
      this.#unsent.take(orgId, keySeq, bytes - heldBytes)
      heldBytes = bytes
    }
    const release = (): void => {
      this.#unsent.give(orgId, keySeq, heldBytes)
      heldBytes = 0
    }
    hold(pieceBytes)
    return sendChunks(answer, pieceBytes, hold, release)
  }
}
