import { CubbyError } from '../core/errors.ts'
import {
  bodiesInFlightBytesMax,
  bodyChunkBytesMin,
  bodyChunksFreeMax,
  bodyMsMax,
  bodyProgressBytesMin,
  bodyStreamBytes,
} from '../core/limits.ts'
import { Shares } from '../core/shares.ts'
import {
  ambiguousLength,
  cutShort,
  paused,
  stalled,
  tooFine,
  tooLarge,
  tooMany,
  tooSlow,
  withoutLength,
} from './body-faults.ts'
import { Deadlines, type Timed } from './deadlines.ts'

/** A body that is declared and no longer than this is read in one go; the bound on requests bounds these. */
const wholeBytesMax = 16 * 1024
const joinedBytes = 4 * 1024
const lookEveryMs = 1_000
/** After a body in too many chunks, further chunked bodies of the same API key are refused unread for so long. */
const fineChunksPauseMs = 1_000
const pausedKeysMax = 1_000
const sendLessHint = 'Send less at once: several records in several requests.'

// ignoreBOM keeps a byte order mark in the text, so that JSON refuses it as the contract says.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whose body it is, and how much of it is held. */
export interface BodyHolder {
  readonly orgId: number
  readonly keySeq: number
  heldBytes: number
}

/** Bytes that come one piece after the other. Small pieces are joined as they come, so each costs no more than it holds. */
class Pieces {
  readonly #pieces: Uint8Array[] = []
  #joined: Uint8Array | undefined
  #joinedLength = 0
  length = 0

  push(piece: Uint8Array): void {
    this.length += piece.length
    if (piece.length >= joinedBytes / 2) {
      this.#closeJoined()
      this.#pieces.push(piece)
      return
    }
    if (this.#joinedLength + piece.length > joinedBytes) this.#closeJoined()
    this.#joined ??= new Uint8Array(joinedBytes)
    this.#joined.set(piece, this.#joinedLength)
    this.#joinedLength += piece.length
  }

  all(): Uint8Array {
    this.#closeJoined()
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
  }

  #closeJoined(): void {
    if (this.#joined === undefined) return
    this.#pieces.push(this.#joined.subarray(0, this.#joinedLength))
    this.#joined = undefined
    this.#joinedLength = 0
  }
}

/**
 * Whether a stream arrives fast enough: at least `bodyProgressBytesMin` in every `bodyMsMax` that we wait for its sender.
 * The time that the reader of the stream takes is not the sender's.
 */
class Progress {
  #waitedMs = 0
  #bytes = 0

  /** False when too little has come for too long. */
  add(bytes: number, waitedMs: number): boolean {
    this.#bytes += bytes
    this.#waitedMs += waitedMs
    if (this.#bytes >= bodyProgressBytesMin) {
      this.#bytes = 0
      this.#waitedMs = 0
    }
    return this.#waitedMs <= bodyMsMax
  }
}

type ReadResult = { done: true; value?: undefined } | { done: false; value: Uint8Array }

/**
 * Reads request bodies. What arrives at once is bounded in total, for an organization and for an API key, not only each;
 * bytes count when they have arrived. A body that trickles is given up after a while, and so is one in very many chunks:
 * Bun hands over every chunk by itself.
 */
export class BodyReader {
  readonly #inFlight = new Shares(bodiesInFlightBytesMax)
  readonly #deadlines = new Deadlines(bodyMsMax, lookEveryMs)
  /**
   * Until when, by API key. To find out that a body has too many chunks takes milliseconds, and Bun accepts connections,
   * each with its request, for as long as there are any, before it does anything else.
   */
  readonly #pausedUntilMs = new Map<number, number>()

  stop(): void {
    this.#deadlines.stop()
  }

  /** When what was made of the body is no longer needed. */
  release(holder: BodyHolder): void {
    if (holder.heldBytes === 0) return
    this.#inFlight.give(holder.orgId, holder.keySeq, holder.heldBytes)
    holder.heldBytes = 0
  }

  /**
   * The body as text; empty when there is none. Checks content type, size and encoding, in that order. The holder has to
   * be released in any case.
   */
  async read(request: Request, bytesMax: number, holder: BodyHolder): Promise<string> {
    const { headers } = request
    const length = declaredLength(headers)
    if (length === 0 || (length === undefined && request.body === null)) return ''
    refuseOtherTypes(headers)
    if (length !== undefined && length > bytesMax) throw tooLarge(bytesMax, sendLessHint)
    if (length === undefined && this.#isPaused(holder.keySeq)) throw paused()
    const bytes =
      length !== undefined && length <= wholeBytesMax
        ? await this.#readWhole(request)
        : await this.#readPieces(request, bytesMax, holder)
    try {
      return decoder.decode(bytes)
    } catch {
      throw new CubbyError('invalid_json', 'The body is not valid UTF-8.', { hint: 'Send JSON in UTF-8.' })
    }
  }

  /**
   * The body as pieces; none when there is no body. Checks the size, not the type, and throws at once when the declared length
   * is too large. Nothing is read before the first piece is asked for, and while none is asked for Bun stops reading from
   * the socket. So a stream holds a fixed amount, counted from the first piece that is asked for to its end.
   *
   * It needs a length: what Bun reads ahead of us it joins, so the chunks of a chunked body could not be counted, and
   * a body in very many of them would keep the thread busy for seconds.
   */
  stream(request: Request, bytesMax: number, holder: BodyHolder): AsyncIterable<Uint8Array> {
    const length = declaredLength(request.headers)
    if (request.headers.has('transfer-encoding')) throw withoutLength()
    if (length !== undefined && length > bytesMax) throw tooLarge(bytesMax)
    return this.#pieces(request.body, holder)
  }

  async *#pieces(body: Request['body'], holder: BodyHolder): AsyncGenerator<Uint8Array, void> {
    if (body === null) return
    const fault = this.#keep(bodyStreamBytes, holder)
    if (fault !== undefined) throw fault
    const reader = body.getReader()
    const progress = new Progress()
    let isComplete = false
    try {
      for (;;) {
        const askedAtMs = performance.now()
        const { value, done } = await this.#nextPiece(reader)
        if (done) {
          isComplete = true
          return
        }
        if (!progress.add(value.length, performance.now() - askedAtMs)) throw stalled()
        yield value
      }
    } finally {
      if (!isComplete) reader.cancel().catch(() => {})
      this.release(holder)
    }
  }

  #nextPiece(reader: { read(): Promise<ReadResult> }): Promise<ReadResult> {
    return new Promise((resolve, reject) => {
      const reading: Timed = { startedAtMs: performance.now(), expire: () => reject(stalled()) }
      this.#deadlines.add(reading)
      reader.read().then(
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

  #readWhole(request: Request): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const reading = { startedAtMs: performance.now(), expire: () => reject(tooSlow()) }
      this.#deadlines.add(reading)
      request.bytes().then(
        (bytes) => {
          this.#deadlines.remove(reading)
          resolve(bytes)
        },
        () => {
          this.#deadlines.remove(reading)
          reject(cutShort())
        },
      )
    })
  }

  /** Not an async loop: that costs half as much again for each piece, and there may be thousands. */
  #readPieces(request: Request, bytesMax: number, holder: BodyHolder): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const reader = request.body!.getReader()
      const body = new Pieces()
      let pieces = 0
      const reading: Timed = { startedAtMs: performance.now(), expire: () => abandon(tooSlow()) }
      this.#deadlines.add(reading)
      let isOver = false
      const abandon = (error: CubbyError): void => {
        isOver = true
        this.#deadlines.remove(reading)
        reader.cancel().catch(() => {})
        reject(error)
      }
      const onPiece = ({ value, done }: { value?: Uint8Array; done: boolean }): void => {
        if (isOver) return
        if (done) {
          this.#deadlines.remove(reading)
          resolve(body.all())
          return
        }
        body.push(value!)
        const fault = this.#keep(value!.length, holder) ?? this.#faultOf(body.length, ++pieces, bytesMax, holder)
        if (fault === undefined) reader.read().then(onPiece, onFault)
        else abandon(fault)
      }
      const onFault = (): void => {
        if (!isOver) abandon(cutShort())
      }
      reader.read().then(onPiece, onFault)
    })
  }

  #keep(bytes: number, holder: BodyHolder): CubbyError | undefined {
    if (!this.#inFlight.tryTake(holder.orgId, holder.keySeq, bytes)) return tooMany()
    holder.heldBytes += bytes
    return undefined
  }

  #faultOf(bytes: number, pieces: number, bytesMax: number, { keySeq }: BodyHolder): CubbyError | undefined {
    if (bytes > bytesMax) return tooLarge(bytesMax, sendLessHint)
    if (pieces <= bodyChunksFreeMax + bytes / bodyChunkBytesMin) return undefined
    if (this.#pausedUntilMs.size >= pausedKeysMax) this.#pausedUntilMs.clear()
    this.#pausedUntilMs.set(keySeq, performance.now() + fineChunksPauseMs)
    return tooFine()
  }

  #isPaused(keySeq: number): boolean {
    const untilMs = this.#pausedUntilMs.get(keySeq)
    if (untilMs === undefined) return false
    if (performance.now() < untilMs) return true
    this.#pausedUntilMs.delete(keySeq)
    return false
  }
}

/** Bun makes a list of a header that was sent twice. */
const declaredLength = (headers: Headers): number | undefined => {
  const header = headers.get('content-length')
  if (header === null) return undefined
  if (!/^[0-9]{1,15}$/.test(header)) throw ambiguousLength()
  return Number(header)
}

const refuseOtherTypes = (headers: Headers): void => {
  const type = headers.get('content-type')
  if (type !== null && type !== 'application/json' && !/^application\/json\s*(?:;|$)/i.test(type.trim())) {
    throw new CubbyError('unsupported_media_type', 'The body is not declared as application/json.', {
      hint: 'Send "Content-Type: application/json".',
    })
  }
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new CubbyError('unsupported_media_type', 'Compressed bodies are not supported.', {
      hint: 'Send the body without Content-Encoding.',
    })
  }
}

/** For requests that take none: what would be ignored is refused. */
export const refuseBody = (headers: Headers): void => {
  const length = headers.get('content-length')
  if ((length === null || Number(length) === 0) && !headers.has('transfer-encoding')) return
  refuseOtherTypes(headers)
  throw new CubbyError('invalid_request', 'This request takes no body.', {
    hint: 'Send it without one; keys go in the path, conditions in If-Match.',
  })
}
