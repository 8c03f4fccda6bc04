import { bodyChunkBytesMin, bodyChunksFreeMax } from '../core/limits.ts'

/** After a body with too many chunks, further chunked bodies of the same API key are rejected unread for this time. */
const pauseMs = 1_000
const pausedKeysMax = 1_000

/** Tells whether a body has too many chunks for its length. Each costs about 2 µs, because Bun delivers it separately. */
export const isTooManyChunks = (pieces: number, bytes: number): boolean =>
  pieces > bodyChunksFreeMax + bytes / bodyChunkBytesMin

/** A body that nobody wants may have this many small chunks before its connection is closed. */
const unwantedChunksMax = 64

/** Tells whether the chunks of a body that nobody wants are many and small. */
export const isManySmallChunks = (pieces: number, bytes: number): boolean =>
  pieces > unwantedChunksMax + bytes / bodyChunkBytesMin

/**
 * The API keys that have just sent a body with too many chunks. It takes milliseconds to find that out, and Bun accepts all
 * new connections with their requests before it does anything else.
 */
export class SmallChunks {
  /** The end of the pause, by API key. */
  readonly #pausedUntilMs = new Map<number, number>()

  pause(keySeq: number): void {
    if (this.#pausedUntilMs.size >= pausedKeysMax) this.#pausedUntilMs.clear()
    this.#pausedUntilMs.set(keySeq, performance.now() + pauseMs)
  }

  isPaused(keySeq: number): boolean {
    const untilMs = this.#pausedUntilMs.get(keySeq)
    if (untilMs === undefined) return false
    if (performance.now() < untilMs) return true
    this.#pausedUntilMs.delete(keySeq)
    return false
  }
}
