import type { Awaitable } from '../core/awaitable.ts'
import type { ResponseRoom, Slices } from '../core/slices.ts'
import type { Access } from '../operations/access.ts'
import type { TokenUser } from '../store/api-keys.ts'
import type { Engine } from '../store/engine.ts'
import type { Feeds } from './feeds.ts'
import type { FileBody, StoredBytes } from './file-body.ts'
import type { KeyedRequest } from './keyed-request.ts'
import type { Loads } from './loads.ts'
import type { ResponseBody } from './response-bodies.ts'
import type { UploadProgress } from './upload-body.ts'
import type { Uploads } from './uploads.ts'

/** One request, as its handler sees it. */
export interface Exchange extends ResponseRoom {
  readonly request: Request
  readonly params: Readonly<Record<string, string | undefined>>
  readonly requestId: string
  /**
   * The caller. Checked again when the body has arrived: the key may have been revoked meanwhile. Call `permit` before.
   */
  readonly access: Access
  /**
   * Throws `not_granted` unless the grants of the caller allow all that the input says. Every handler passes its input through
   * it, when the fields are checked and before anything is looked up.
   */
  permit<Input>(input: Input): Input
  /** The user, if the caller has a user token. */
  readonly user: TokenUser | undefined
  /** For what the request asks about itself, before `permit`. */
  readonly store: Engine
  /** The organization of the caller. */
  readonly orgId: number
  /** The time of the last authentication: at the start, and again when the body has arrived. */
  readonly nowMs: number
  /** Resolves when the body has arrived and it is the request's turn. `alsoType` is a content type that means JSON too. */
  readBody(bytesMax: number, alsoType?: string): Promise<string>
  /**
   * Reads like `readBody`, and passes the text to `use` without a promise in between. `refuse` answers a body that could not be
   * read, or throws the error again.
   */
  withBody<T>(
    bytesMax: number,
    use: (text: string) => Awaitable<T>,
    refuse?: (error: unknown) => Awaitable<T>,
  ): Awaitable<T>
  /**
   * The bytes of a file as they arrive, with a Content-Length or chunked, for a route with `body: 'upload'`; each chunk waits
   * for the request's turn. The loop over it throws if the body stops arriving or is cut short, and after the last chunk if
   * the key is no longer valid: nothing of the body may take effect before the loop has ended. The caller limits their number.
   */
  readUpload(progress: UploadProgress): AsyncIterable<Uint8Array>
  /** The same for a small file with a declared length, whole. Its owner frees it. */
  readSmallUpload(bytes: number, progress: UploadProgress): Promise<Uint8Array>
  /** The bytes of a load as they arrive, for a route with `body: 'load'`. They wait for no turn, and the key is not judged. */
  readLoad(progress: UploadProgress): AsyncIterable<Uint8Array>
  /** Judges the API key again, and sets `access` and `nowMs`. */
  authenticate(): Awaitable<void>
  /** Resolves when it is the request's turn. */
  turn(): Promise<void>
  /**
   * Allows the connection to be idle for any time while the work runs: a blob store may need minutes to make a file durable.
   */
  withoutIdleTimeout<T>(work: () => Promise<T>): Promise<T>
  /** Aborts when the client has closed the connection. */
  readonly signal: AbortSignal
  /**
   * Waits for something that may take seconds, and holds no turn, no memory for the body and no place among the requests in
   * flight meanwhile. Afterwards the request waits for its turn, and its key is checked again.
   */
  pause<T>(wait: () => Promise<T>): Promise<T>
  /** Sets the idempotency key of the request, for the operation. */
  useOnce(once: KeyedRequest): void
  /** Counts a response that an earlier request got, for the metrics. */
  countReplay(): void
  /** From now on the body is the one that was read, and the time is this one: the request is answered once more. */
  replayAt(nowMs: number): void
  /** The time of the clock. */
  now(): number
  /** The signature of the URL, for a signed upload. */
  readonly signature?: string
  /** Those who follow tables of this server. */
  readonly feeds: Feeds
  /** The loads of this server. */
  readonly loads: Loads
  /** The uploads of this server. */
  readonly uploads: Uploads
  /** The address at which the caller reached the server, without a slash at its end. */
  readonly baseUrl: string
  /** Adds to the room that was taken: this much more of the response is there. */
  addToRoom(bytes: number): void
  /** Runs long work. Between two steps it waits for its turn if other requests are waiting. */
  runSlices<T>(slices: Slices<T>): Awaitable<T>
  /** The text as the body of the answer. Call it only for an answer that is then sent. */
  bodyOf(text: string): ResponseBody
  /** The bytes of a file as the body of the answer: see `fileBody`. For HEAD nothing is read. */
  fileBodyOf(stored: StoredBytes): Promise<FileBody>
}
