import type { Awaitable } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { freeChunk } from '../core/free-chunk.ts'
import { bodiesInFlightBytesMax, bodyMsMax } from '../core/limits.ts'
import { Shares } from '../core/shares.ts'
import { ambiguousLength, cutShort, paused, tooFine, tooLarge, tooMany, tooSlow } from './body-faults.ts'
import { Deadlines, type Timed } from './deadlines.ts'
import { isTooManyChunks, SmallChunks } from './small-chunks.ts'

/** A body with a declared length up to this is read at once; the limit on requests in flight limits these. */
const wholeBytesMax = 16 * 1024
const joinedBytes = 4 * 1024
const sendLessHint = 'Send less at once: several records in several requests.'

// ignoreBOM keeps a byte order mark in the text, so that the JSON check rejects it.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The owner of a body, and how much of the body is in memory. */
export interface BodyHolder {
  readonly orgId: number
  readonly keySeq: number
  heldBytes: number
  /** Bytes of the body, when it was read. */
  receivedBytes: number
}

/** Collects the pieces of a body. Small pieces are joined when they arrive, so none uses more memory than its bytes. */
export class Pieces {
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
    if (this.#pieces.length === 1) return this.#pieces[0]!
    const all = Buffer.concat(this.#pieces)
    this.free()
    return all
  }

  /** Frees pieces that were copied, or that nobody is going to use. */
  free(): void {
    for (const piece of this.#pieces) freeChunk(piece)
  }

  #closeJoined(): void {
    if (this.#joined === undefined) return
    this.#pieces.push(this.#joined.subarray(0, this.#joinedLength))
    this.#joined = undefined
    this.#joinedLength = 0
  }
}

type UseBody<T> = (text: string) => Awaitable<T>
/** Answers a fault of a body, or throws it again. */
export type RefuseBody<T> = (error: unknown) => Awaitable<T>

const rethrow = (error: unknown): never => {
  throw error
}

const textOf = (bytes: Uint8Array): string => {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new CubbyError('invalid_json', 'The body is not valid UTF-8.', { hint: 'Send JSON in UTF-8.' })
  }
}

export type ReadResult = { done: true; value?: undefined } | { done: false; value: Uint8Array }

/**
 * Reads request bodies. There are limits for each body and for all bodies in flight: in total, per organization and per API
 * key. Bytes count when they have arrived. A body that arrives too slowly is abandoned, and so is one with too many chunks,
 * because Bun delivers every chunk separately.
 */
export class BodyReader {
  readonly #inFlight = new Shares(bodiesInFlightBytesMax)
  readonly #deadlines: Deadlines
  readonly smallChunks = new SmallChunks()

  constructor(msMax = bodyMsMax, pollEveryMs = 1_000) {
    this.#deadlines = new Deadlines(msMax, pollEveryMs)
  }

  stop(): void {
    this.#deadlines.stop()
  }

  /** Call this when nothing needs the body any more. */
  release(holder: BodyHolder): void {
    if (holder.heldBytes === 0) return
    this.#inFlight.give(holder.orgId, holder.keySeq, holder.heldBytes)
    holder.heldBytes = 0
  }

  /**
   * Passes the body as text to `use`, and resolves to its result; the text is empty if there is no body. Checks content type,
   * size and encoding, in that order, and throws or rejects with what `refuse` makes of a fault of the body. The caller must
   * always release the holder, also after an error. `alsoType` is a content type that means JSON too.
   *
   * `use` is called when the last byte has arrived, not by a promise: for a small body each promise counts.
   */
  read<T>(
    request: Request,
    bytesMax: number,
    holder: BodyHolder,
    use: UseBody<T>,
    refuse: RefuseBody<T> = rethrow,
    alsoType?: string,
  ): Awaitable<T> {
    const { headers } = request
    let length: number | undefined
    let isEmpty: boolean
    try {
      length = declaredLength(headers)
      isEmpty = length === 0 || (length === undefined && request.body === null)
      if (!isEmpty) refuseOtherTypes(headers, alsoType)
      if (length !== undefined && length > bytesMax) throw tooLarge(bytesMax, sendLessHint)
      if (length === undefined && !isEmpty && this.smallChunks.isPaused(holder.keySeq)) throw paused()
    } catch (error) {
      return refuse(error)
    }
    if (isEmpty) return use('')
    if (length !== undefined && length <= wholeBytesMax) return this.#readWhole(request, holder, use, refuse)
    return this.#readPieces(request, bytesMax, holder)
      .then((bytes) => {
        holder.receivedBytes = bytes.length
        const text = textOf(bytes)
        freeChunk(bytes)
        return text
      })
      .then(use, refuse)
  }

  #readWhole<T>(request: Request, holder: BodyHolder, use: UseBody<T>, refuse: RefuseBody<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = <V>(finish: (value: V) => Awaitable<T>, value: V): void => {
        try {
          resolve(finish(value))
        } catch (error) {
          reject(error)
        }
      }
      const reading = { startedAtMs: performance.now(), expire: () => settle(refuse, tooSlow()) }
      this.#deadlines.add(reading)
      request.bytes().then(
        (bytes) => {
          // A body that was abandoned must not take effect.
          if (!this.#deadlines.remove(reading)) return
          holder.receivedBytes = bytes.length
          let text: string
          try {
            text = textOf(bytes)
          } catch (error) {
            settle(refuse, error)
            return
          }
          settle(use, text)
        },
        () => {
          if (this.#deadlines.remove(reading)) settle(refuse, cutShort())
        },
      )
    })
  }

  /** An async loop would cost 50 % more per piece, and there may be thousands. */
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
        body.free()
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
    if (!isTooManyChunks(pieces, bytes)) return undefined
    this.smallChunks.pause(keySeq)
    return tooFine()
  }
}

/** Bun joins a header that was sent twice into a list. */
export const declaredLength = (headers: Headers): number | undefined => {
  const header = headers.get('content-length')
  if (header === null) return undefined
  if (!/^[0-9]+$/.test(header)) throw ambiguousLength()
  return Number(header)
}

const typeOf = (header: string): string => header.split(';', 1)[0]!.trim().toLowerCase()

const refuseOtherTypes = (headers: Headers, alsoType?: string): void => {
  const type = headers.get('content-type')
  if (type !== null && type !== 'application/json' && !['application/json', alsoType].includes(typeOf(type))) {
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

/** Checks the content type of a load, and tells whether it is packed. */
export const isPackedLoad = (headers: Headers): boolean => {
  const type = headers.get('content-type')
  if (type !== null && typeOf(type) !== 'application/x-ndjson') {
    throw new CubbyError('unsupported_media_type', 'The body is not declared as application/x-ndjson.', {
      field: 'Content-Type',
      hint: 'Send one put as JSON in each line, with "Content-Type: application/x-ndjson".',
    })
  }
  const encoding = headers.get('content-encoding')?.toLowerCase()
  if (encoding === undefined || encoding === 'identity') return false
  if (encoding === 'gzip') return true
  throw new CubbyError('unsupported_media_type', 'The body of a load may only be packed with gzip.', {
    field: 'Content-Encoding',
    hint: 'Send it with "Content-Encoding: gzip", or as it is.',
  })
}

export const announcesBody = (headers: Headers): boolean => {
  const length = headers.get('content-length')
  return (length !== null && Number(length) !== 0) || headers.has('transfer-encoding')
}

/** Rejects a body of a request that takes none: it would be ignored. */
export const refuseBody = (headers: Headers): void => {
  if (!announcesBody(headers)) return
  refuseOtherTypes(headers)
  throw new CubbyError('invalid_request', 'This request takes no body.', {
    hint: 'Send it without one; keys go in the path, conditions in If-Match.',
  })
}
