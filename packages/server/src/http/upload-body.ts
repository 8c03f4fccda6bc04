import type { CubbyError } from '../core/errors.ts'
import { fileIdleMsMax } from '../core/limits.ts'
import { Pieces, type ReadResult } from './body.ts'
import { cutShort, paused, tooFine, uploadStalled } from './body-faults.ts'
import { Deadlines, type Timed } from './deadlines.ts'
import { type FineChunks, isTooFine } from './fine-chunks.ts'

const lookEveryMs = 1_000
/** A round of a chunked body ends with this many bytes. */
const roundBytes = 512 * 1024

type Reader = ReadableStreamDefaultReader<Uint8Array>

/**
 * Reads the bytes of uploads. While no piece is requested, Bun stops reading from the socket, so an upload holds no more
 * than what Bun reads ahead. `Uploads` limits how many there are. A sender may take as long as it needs, as long as
 * something arrives every `fileIdleMsMax`.
 */
export class UploadBodies {
  readonly #deadlines: Deadlines
  readonly #fineChunks: FineChunks

  constructor(fineChunks: FineChunks, idleMsMax = fileIdleMsMax) {
    this.#fineChunks = fineChunks
    this.#deadlines = new Deadlines(idleMsMax, Math.min(lookEveryMs, idleMsMax))
  }

  stop(): void {
    this.#deadlines.stop()
  }

  /** The pieces of the body; none if it is empty. Nothing is read before the first is requested. */
  async *pieces(request: Request, keySeq: number): AsyncGenerator<Uint8Array, void> {
    const isChunked = request.headers.has('transfer-encoding')
    if (isChunked && this.#fineChunks.isPaused(keySeq)) throw paused()
    const { body } = request
    if (body === null) return
    const reader = body.getReader() as Reader
    let isComplete = false
    try {
      yield* isChunked ? this.#rounds(reader, keySeq) : this.#each(reader)
      isComplete = true
    } finally {
      if (!isComplete) reader.cancel().catch(() => {})
    }
  }

  async *#each(reader: Reader): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const { value, done } = await this.#inTime(reader.read() as Promise<ReadResult>)
      if (done) return
      yield value
    }
  }

  /**
   * The pieces of a chunked body, joined. Bun delivers a chunk separately if a read is pending when it arrives, and joins
   * the chunks that arrive while none is. Joined ones cost little, but cannot be counted. So in every round a read is
   * pending while Bun handles the sockets once: a body of very many chunks is found out there, and given up.
   */
  async *#rounds(reader: Reader, keySeq: number): AsyncGenerator<Uint8Array, void> {
    let pieces = 0
    let bytes = 0
    let pending: Promise<ReadResult> | undefined
    for (;;) {
      const first = await this.#inTime(pending ?? (reader.read() as Promise<ReadResult>))
      pending = undefined
      if (first.done) return
      const joined = new Pieces()
      const take = (piece: Uint8Array): void => {
        joined.push(piece)
        pieces++
        bytes += piece.length
      }
      take(first.value)
      const round = await readRound(
        reader,
        take,
        () => (isTooFine(pieces, bytes) ? this.#refuseFine(keySeq) : undefined),
        () => joined.length >= roundBytes,
      )
      yield joined.all()
      if (round.isEnd) return
      pending = round.pending
    }
  }

  #refuseFine(keySeq: number): CubbyError {
    this.#fineChunks.pause(keySeq)
    return tooFine()
  }

  /** Rejects if nothing arrives for too long, or the connection ends. */
  #inTime(read: Promise<ReadResult>): Promise<ReadResult> {
    return new Promise((resolve, reject) => {
      const reading: Timed = { startedAtMs: performance.now(), expire: () => reject(uploadStalled()) }
      this.#deadlines.add(reading)
      read.then(
        (result) => {
          this.#deadlines.remove(reading)
          resolve(result)
        },
        () => {
          this.#deadlines.remove(reading)
          reject(cutShort())
        },
      )
    })
  }
}

interface Round {
  isEnd: boolean
  /** A read that has not been answered: its piece belongs to the next round. */
  pending: Promise<ReadResult> | undefined
}

/** Calls back when Bun has handled the sockets at least once. */
const afterSockets = (callback: () => void): void => void setImmediate(() => setImmediate(callback))

/** Takes pieces while Bun handles the sockets once, or until `isFull`. Not an async loop: that costs more per piece. */
const readRound = (
  reader: Reader,
  take: (piece: Uint8Array) => void,
  faultOf: () => CubbyError | undefined,
  isFull: () => boolean,
): Promise<Round> =>
  new Promise((resolve, reject) => {
    let isOver = false
    let pending: Promise<ReadResult> | undefined
    const end = (isEnd: boolean): void => {
      isOver = true
      resolve({ isEnd, pending })
    }
    const fail = (error: CubbyError): void => {
      isOver = true
      reject(error)
    }
    const onPiece = ({ value, done }: ReadResult): void => {
      if (isOver) return
      pending = undefined
      if (done) {
        end(true)
        return
      }
      take(value)
      const fault = faultOf()
      if (fault !== undefined) fail(fault)
      else if (isFull()) end(false)
      else read()
    }
    const onFault = (): void => {
      if (!isOver) fail(cutShort())
    }
    const read = (): void => {
      pending = reader.read() as Promise<ReadResult>
      pending.then(onPiece, onFault)
    }
    afterSockets(() => {
      if (!isOver) end(false)
    })
    read()
  })

/**
 * Whether the chunked body of a request that was refused is so fine that its connection must be closed: Bun parses the rest
 * of the body chunk by chunk before the next request of the connection. Looks only at what has arrived already.
 */
export const isFineSoFar = async (request: Request): Promise<boolean> => {
  if (request.body === null || request.bodyUsed) return false
  const reader = request.body.getReader() as Reader
  let pieces = 0
  let bytes = 0
  const take = (piece: Uint8Array): void => {
    pieces++
    bytes += piece.length
  }
  const found = await readRound(
    reader,
    take,
    () => (isTooFine(pieces, bytes) ? tooFine() : undefined),
    () => false,
  ).then(
    () => false,
    () => isTooFine(pieces, bytes),
  )
  reader.cancel().catch(() => {})
  return found
}
