import type { Awaitable } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { freeChunk } from '../core/free-chunk.ts'
import { fileIdleMsMax, uploadProgressBytesMin } from '../core/limits.ts'
import { Pieces, type ReadResult } from './body.ts'
import { cutShort, paused, tooFine, uploadStalled } from './body-faults.ts'
import { isManySmallChunks, isTooManyChunks, type SmallChunks } from './small-chunks.ts'

const pollEveryMs = 1_000
/** The most that is held of a chunked body that arrives faster than it is taken. */
const heldBytesMax = 512 * 1024

type Reader = ReadableStreamDefaultReader<Uint8Array>

/**
 * Reads a chunked body as it arrives and joins its pieces. Bun delivers a chunk separately if a read is pending when it
 * arrives, and parses and joins the chunks that arrive while none is: those cannot be counted, and a body of very many
 * chunks would keep the thread busy for seconds. So reading begins with the request, and goes on until enough is held.
 */
export class ChunkedBody {
  readonly #reader: Reader
  #joined = new Pieces()
  #pieces = 0
  #bytes = 0
  #isReading = false
  #isEnd = false
  #fault: CubbyError | undefined
  #wake: (() => void) | undefined
  #onSmall: (() => void) | undefined
  readonly #fine = Promise.withResolvers<void>()

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader() as Reader
    this.#read()
  }

  /** Resolves when it is given up because of its many chunks. The answer must come at once: Bun parses on until then. */
  get whenTooFine(): Promise<void> {
    return this.#fine.promise
  }

  /**
   * Drops a body that nobody wants. Returns true if its chunks are small, so that the connection must be closed with the
   * response; otherwise Bun parses each of them, and the sender pays less for one than this thread.
   */
  async drop(): Promise<boolean> {
    if (this.#isEnd) return false
    // The chunks that have arrived with the head of the request are judged first.
    if (!this.#isSmall) {
      const small = new Promise<void>((resolve) => {
        this.#onSmall = resolve
      })
      await Promise.race([afterSockets(), small])
    }
    this.cancel()
    return this.#isSmall
  }

  get #isSmall(): boolean {
    return isManySmallChunks(this.#pieces, this.#bytes)
  }

  /** All that has arrived; undefined at the end. Waits if there is nothing. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#joined.length === 0 && !this.#isEnd && this.#fault === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#fault !== undefined) throw this.#fault
    if (this.#joined.length === 0) return undefined
    const bytes = this.#joined.all()
    this.#joined = new Pieces()
    if (!this.#isEnd && !this.#isReading) this.#read()
    return bytes
  }

  /** The rest of the body is dropped as it arrives. */
  cancel(): void {
    this.#isEnd = true
    this.#reader.cancel().catch(() => {})
  }

  // An async loop would cost more for each piece.
  #read(): void {
    this.#isReading = true
    ;(this.#reader.read() as Promise<ReadResult>).then(this.#onPiece, this.#onFault)
  }

  readonly #onPiece = ({ value, done }: ReadResult): void => {
    this.#isReading = false
    if (done) this.#isEnd = true
    if (!this.#isEnd) {
      this.#joined.push(value!)
      this.#pieces++
      this.#bytes += value!.length
      if (isTooManyChunks(this.#pieces, this.#bytes)) {
        this.#fault = tooFine()
        this.#fine.resolve()
        this.cancel()
      } else if (this.#joined.length < heldBytesMax) this.#read()
    }
    if (this.#isSmall) this.#onSmall?.()
    this.#wake?.()
  }

  readonly #onFault = (): void => {
    this.#isReading = false
    if (!this.#isEnd) this.#fault = cutShort()
    this.#wake?.()
  }
}

/** Resolves when Bun has handled the sockets at least once. */
const afterSockets = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

/** An upload that has just begun is not slower than one that has sent this little for seconds. */
const rateHeadStartBytes = 1_024

/**
 * Measures how much of an upload has arrived, and how long the server has waited for it: the time that the server needs itself
 * does not count. Anybody may cut the upload until all of it has arrived.
 */
export class UploadProgress {
  #bytes = 0
  #waitedMs = 0
  /** The bytes and the time when the last `uploadProgressBytesMin` were complete. */
  #markBytes = 0
  #markMs = 0
  #waitsSinceMs: number | undefined
  #fault: CubbyError | undefined
  #onCut: ((fault: CubbyError) => void) | undefined
  #isComplete = false

  /** `stalled` makes the error of a body that arrives too slowly. */
  constructor(readonly stalled: () => CubbyError = uploadStalled) {}

  /** The error that has cut it. */
  get fault(): CubbyError | undefined {
    return this.#fault
  }

  get isCuttable(): boolean {
    return !this.#isComplete && this.#fault === undefined
  }

  /** Bytes per millisecond of waiting. */
  rate(nowMs: number): number {
    return (this.#bytes + rateHeadStartBytes) / (this.#waitedUntil(nowMs) + 1)
  }

  /** Returns how long the server has waited for the next `uploadProgressBytesMin`. */
  slowForMs(nowMs: number): number {
    return this.#waitedUntil(nowMs) - this.#markMs
  }

  #waitedUntil(nowMs: number): number {
    return this.#waitsSinceMs === undefined ? this.#waitedMs : this.#waitedMs + nowMs - this.#waitsSinceMs
  }

  /** The server waits for the next piece. `onCut` is called if the upload is cut, now or until `arrived`. */
  wait(onCut: (fault: CubbyError) => void): void {
    if (this.#fault !== undefined) onCut(this.#fault)
    this.#onCut = onCut
    this.#waitsSinceMs = performance.now()
  }

  /** Adds the bytes that have arrived. `isComplete`: nothing is missing any more. */
  arrived(bytes: number, isComplete = false): void {
    this.#waitedMs = this.#waitedUntil(performance.now())
    this.#waitsSinceMs = undefined
    this.#onCut = undefined
    this.#bytes += bytes
    if (this.#fault === undefined) this.#isComplete = isComplete
    if (this.#bytes - this.#markBytes < uploadProgressBytesMin) return
    this.#markBytes = this.#bytes
    this.#markMs = this.#waitedMs
  }

  /** The next piece is not waited for: the reader of the upload gets this error. */
  cut(fault: CubbyError): void {
    this.#fault = fault
    this.#onCut?.(fault)
  }
}

/**
 * Reads the bytes of uploads. While no piece is requested, Bun stops reading from the socket, so an upload holds no more
 * than what Bun reads ahead, or the whole of a small file. `Uploads` limits how many there are. A sender may take as long as
 * it needs, as long as `uploadProgressBytesMin` arrive in every `fileIdleMsMax`.
 */
export class UploadBodies {
  /** There are at most as many as slots for uploads, so each check goes over all of them. */
  readonly #waiting = new Set<UploadProgress>()
  readonly #watch: Timer
  readonly #fineChunks: SmallChunks

  constructor(smallChunks: SmallChunks, idleMsMax = fileIdleMsMax) {
    this.#fineChunks = smallChunks
    this.#watch = setInterval(() => this.#cutSlow(idleMsMax), Math.min(pollEveryMs, idleMsMax))
    this.#watch.unref()
  }

  stop(): void {
    clearInterval(this.#watch)
  }

  #cutSlow(idleMsMax: number): void {
    const nowMs = performance.now()
    for (const progress of this.#waiting) {
      if (progress.slowForMs(nowMs) >= idleMsMax) progress.cut(progress.stalled())
    }
  }

  /**
   * The pieces of the body; none if it is empty. `chunked`: the body, if it has no declared length. A piece is valid until the
   * next one is requested.
   */
  async *pieces(
    request: Request,
    chunked: ChunkedBody | undefined,
    progress: UploadProgress,
  ): AsyncGenerator<Uint8Array, void> {
    if (chunked !== undefined) yield* this.#piecesOf(chunked, progress)
    else if (request.body !== null) yield* this.#each(request.body.getReader() as Reader, progress)
  }

  /**
   * The whole body, of a small declared length. Its owner frees it. Not a loop over `pieces`: that takes three times as long,
   * and for a small file it is most of what the serving thread does.
   */
  whole(
    request: Request,
    bytes: number,
    progress: UploadProgress,
    counts: { receivedBytes: number },
  ): Promise<Uint8Array> {
    if (bytes === 0) return Promise.resolve(new Uint8Array())
    return new Promise((resolve, reject) => {
      const reader = request.body!.getReader() as Reader
      let joined: Uint8Array | undefined
      let size = 0
      const onCut = (fault: CubbyError): void => {
        this.#waiting.delete(progress)
        reader.cancel().catch(() => {})
        reject(fault)
      }
      const read = (): void => {
        this.#waiting.add(progress)
        progress.wait(onCut)
        ;(reader.read() as Promise<ReadResult>).then(onPiece, onFault)
      }
      const onPiece = ({ value, done }: ReadResult): void => {
        // A body that was abandoned must not take effect.
        if (!this.#waiting.delete(progress)) return
        if (done) {
          reject(cutShort())
          return
        }
        counts.receivedBytes += value.length
        progress.arrived(value.length, size + value.length >= bytes)
        if (joined === undefined && value.length === bytes) {
          resolve(value)
          return
        }
        joined ??= new Uint8Array(bytes)
        joined.set(value.subarray(0, bytes - size), size)
        size += value.length
        freeChunk(value)
        if (size >= bytes) resolve(joined)
        else read()
      }
      const onFault = (): void => {
        if (this.#waiting.delete(progress)) reject(cutShort())
      }
      read()
    })
  }

  async *#each(reader: Reader, progress: UploadProgress): AsyncGenerator<Uint8Array, void> {
    let isComplete = false
    try {
      for (;;) {
        const value = await this.#inTime(progress, (reader.read() as Promise<ReadResult>).then(pieceOf))
        if (value === undefined) {
          isComplete = true
          return
        }
        yield value
        freeChunk(value)
      }
    } finally {
      if (!isComplete) reader.cancel().catch(() => {})
    }
  }

  async *#piecesOf(chunked: ChunkedBody, progress: UploadProgress): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const piece = await this.#inTime(progress, chunked.next())
      if (piece === undefined) return
      yield piece
      freeChunk(piece)
    }
  }

  /**
   * Runs the handler of an upload or a load. If its body turns out to have too many chunks, further chunked bodies with the
   * same API key are rejected for a moment, and an upload is answered at once. A load ends by itself: it waits for its last
   * commit.
   */
  async run<T>(chunked: ChunkedBody, keySeq: number, isLoad: boolean, handler: () => Awaitable<T>): Promise<T> {
    if (this.#fineChunks.isPaused(keySeq)) throw paused()
    const refusal = chunked.whenTooFine.then(() => {
      this.#fineChunks.pause(keySeq)
      throw tooFine()
    })
    if (isLoad) {
      refusal.catch(() => {})
      return handler()
    }
    const answer = (async () => handler())()
    // The one that loses the race fails later, with nobody waiting for it.
    answer.catch(() => {})
    refusal.catch(() => {})
    return Promise.race([answer, refusal])
  }

  /** The next piece; undefined at the end. Rejects if the upload is cut, or the connection ends. */
  #inTime(progress: UploadProgress, read: Promise<Uint8Array | undefined>): Promise<Uint8Array | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(progress)
      progress.wait((fault) => {
        this.#waiting.delete(progress)
        reject(fault)
      })
      read.then(
        (piece) => {
          this.#waiting.delete(progress)
          progress.arrived(piece?.length ?? 0, piece === undefined)
          resolve(piece)
        },
        (error) => {
          this.#waiting.delete(progress)
          reject(error instanceof CubbyError ? error : cutShort())
        },
      )
    })
  }
}

const pieceOf = ({ value }: ReadResult): Uint8Array | undefined => value
