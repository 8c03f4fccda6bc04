import { CubbyError } from '../core/errors.ts'
import { Fifo } from '../core/fair-queue.ts'
import { answersUnsentBytesMax, turnMsMax } from '../core/limits.ts'
import { Shares } from '../core/shares.ts'
import { Deadlines, type Timed } from './deadlines.ts'

/** Shorter answers are handed to the socket as they are: the system's own buffers take nearly all of them. */
const streamedFromBytes = 32 * 1024
const pieceBytes = 256 * 1024
/** Of bytes that all answers share, only the piece that the socket is taking costs memory. */
const sharedPieceBytes = 16 * 1024
const watchEveryMs = 250

export type AnswerBody = string | ReadableStream<Uint8Array>

interface Waiter extends Timed {
  resolve(): void
}

const encoder = new TextEncoder()

const unread = (): CubbyError =>
  new CubbyError('unavailable', 'Too many answers to requests with this API key wait to be read by their clients.', {
    hint: 'Read the answers to earlier requests, then repeat this one.',
  })

/** A stream of which the next piece is made when the socket has taken the one before. */
const inPieces = (bytes: Uint8Array, piece: number, over: () => void): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.length) {
          controller.enqueue(bytes.subarray(at, at + piece))
          at += piece
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

/** For what is the same for everyone and larger than a socket's buffers may be. */
export const sharedBody = (bytes: Uint8Array): ReadableStream<Uint8Array> => inPieces(bytes, sharedPieceBytes, () => {})

/**
 * Bounds the answers that the sockets have not taken yet: of all clients, of an organization's, and of an API key's. An
 * answer given to Bun as a string stays in memory for as long as its client does not read; one given as a stream is
 * asked for piece by piece, and its end is known.
 */
export class Answers {
  readonly #unsent = new Shares(answersUnsentBytesMax)
  /** Requests that wait for room, by API key. */
  readonly #waiting = new Map<number, Fifo<Waiter>>()
  readonly #deadlines = new Deadlines(turnMsMax, watchEveryMs)

  stop(): void {
    this.#deadlines.stop()
  }

  /** Whether a request of this key may be answered now. How large its answer will be is known only when it is made. */
  hasRoom(orgId: number, keySeq: number): boolean {
    return this.#unsent.used === 0 || this.#unsent.hasRoom(orgId, keySeq, 1)
  }

  /** Resolves when a client has taken an answer of this key; there may be room then. Rejects if that takes too long. */
  wait(keySeq: number, startedAtMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { startedAtMs, resolve, expire: () => reject(unread()) }
      const line = this.#waiting.get(keySeq) ?? new Fifo<Waiter>()
      if (line.size === 0) this.#waiting.set(keySeq, line)
      line.push(waiter)
      this.#deadlines.add(waiter)
    })
  }

  /** The text as the body of an answer; the room that it takes is free when the socket has taken it or is gone. */
  body(orgId: number, keySeq: number, text: string): AnswerBody {
    if (text.length < streamedFromBytes) return text
    const bytes = encoder.encode(text)
    this.#unsent.take(orgId, keySeq, bytes.length)
    let isHeld = true
    return inPieces(bytes, pieceBytes, () => {
      if (!isHeld) return
      isHeld = false
      this.#unsent.give(orgId, keySeq, bytes.length)
      this.#wakeNext(keySeq)
    })
  }

  #wakeNext(keySeq: number): void {
    const line = this.#waiting.get(keySeq)
    if (line === undefined) return
    for (let waiter = line.shift(); waiter !== undefined; waiter = line.shift()) {
      // One that waited too long is still in its line.
      if (!this.#deadlines.remove(waiter)) continue
      waiter.resolve()
      break
    }
    if (line.size === 0) this.#waiting.delete(keySeq)
  }
}
