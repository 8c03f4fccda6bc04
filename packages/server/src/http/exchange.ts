import type { Awaitable } from '../core/awaitable.ts'
import type { Steps } from '../core/steps.ts'
import type { Access } from '../operations/access.ts'
import type { AnswerBody } from './answers.ts'

/** One request and what its handler may use. */
export interface Exchange {
  readonly request: Request
  readonly params: Readonly<Record<string, string | undefined>>
  readonly requestId: string
  /** Who asks. Renewed when a body has arrived: the key may have been revoked meanwhile. */
  readonly access: Access
  /** When the caller was last authenticated: with the request, and again when its body had arrived. */
  readonly nowMs: number
  /** Resolves when the body has arrived and it is the request's turn. */
  readBody(bytesMax: number): Promise<string>
  /**
   * The body as it arrives, for a route with `body: 'stream'`; each chunk is given out in the request's turn. Throws when the
   * body is too large or has no Content-Length. The loop over it throws when the body stops arriving or is cut short, and
   * after the last chunk when the key is no longer valid: nothing of the body may take effect before the loop has ended.
   */
  readStream(bytesMax: number): AsyncIterable<Uint8Array>
  /** Runs what takes long; between two steps it waits for its turn if others want theirs. */
  runSteps<T>(steps: Steps<T>): Awaitable<T>
  /** The text as the body of the answer. Not to be called for an answer that is not sent. */
  bodyOf(text: string): AnswerBody
  /**
   * The chunks as the body of the answer, each asked for when the client has taken those before it. For HEAD the
   * source is not started. It is told to stop when the client goes away. `bytes`: the length, where it is known.
   */
  streamOf(chunks: AsyncIterable<Uint8Array>, bytes?: number): ReadableStream<Uint8Array> | null
}
