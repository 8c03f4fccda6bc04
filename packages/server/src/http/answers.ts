import { CubbyError } from '../core/errors.ts'
import { answersUnsentBytesMax } from '../core/limits.ts'
import { type Holder, Shares } from '../core/shares.ts'
import { type AnswerStream, sendChunks } from './answer-stream.ts'

/** Shorter answers are handed to the socket as they are: the system's own buffers take nearly all of them. */
const streamedFromBytes = 32 * 1024
const pieceBytes = 256 * 1024

const encoder = new TextEncoder()

export type AnswerBody = string | ReadableStream<Uint8Array>

const unread = (): CubbyError =>
  new CubbyError('unavailable', 'Too many large answers to this API key are still unread.', {
    hint: 'Read the answers to earlier requests, then repeat this one; or ask for less with a smaller limit.',
  })

/** A stream of which the next piece is made when the socket has taken the one before. */
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
 * Bounds the answers that the sockets have not taken yet: of all clients, of an organization's, and of an API key's. An
 * answer given to Bun as a string stays in memory for as long as its client does not read; one given as a stream is
 * asked for piece by piece, and its end is known.
 */
export class Answers {
  readonly #unsent = new Shares(answersUnsentBytesMax)

  /** Before a write: its answer cannot be refused afterwards. Throws `unavailable` when there is no room. */
  refuseIfFull(orgId: number, keySeq: number): void {
    if (!this.#unsent.hasRoom(orgId, keySeq, 1)) throw unread()
  }

  /**
   * The text as the body of an answer; undefined for a small one, which takes no room. The room of a large one is free
   * when the socket has taken it or is gone; then `over` is called. A read whose answer finds none throws `unavailable`.
   */
  stream(
    { orgId, keySeq }: Holder,
    text: string,
    isRead: boolean,
    over: () => void,
  ): ReadableStream<Uint8Array> | undefined {
    if (text.length < streamedFromBytes) return undefined
    const bytes = encoder.encode(text)
    if (isRead && !this.#unsent.hasRoom(orgId, keySeq, bytes.length)) throw unread()
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
   * An answer that is made while it is sent. It holds one piece, or one chunk of its source if that is larger. A read that
   * finds no room throws `unavailable`, and the source is not started.
   */
  streamFrom({ orgId, keySeq }: Holder, answer: AnswerStream, isRead: boolean): ReadableStream<Uint8Array> {
    if (isRead && !this.#unsent.hasRoom(orgId, keySeq, pieceBytes)) throw unread()
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
