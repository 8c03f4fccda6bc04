import type { ErrorCode } from '../core/errors.ts'

// The log and the metrics need facts that nobody can read from a `Response`: the size of its body, and the code of an error.
// They are noted only if somebody asks, because it is done for every response.

let isWanted = false

/** Switches the notes of responses on. */
export const noteResponses = (): void => {
  isWanted = true
}

type NotedBody = string | Uint8Array | Blob | ReadableStream<Uint8Array> | null

const bytesOf = Symbol('bytes')
const codeOf = Symbol('code')

interface Noted {
  [bytesOf]?: number
  [codeOf]?: ErrorCode
}

/**
 * The last answer, until somebody takes its size. Most sizes are taken at once: a member of its own would cost a `Response`
 * more than all of the counting, so it gets one only if another answer is made before.
 */
let last: Noted | undefined
let lastBytes = 0

/** Sizes of bodies that are streams of a known length. */
const streamBytes = new WeakMap<ReadableStream<Uint8Array>, number>()

export const noteBody = (response: Response, body: NotedBody): Response => {
  if (!isWanted) return response
  if (last !== undefined) last[bytesOf] = lastBytes
  last = response as Noted
  lastBytes = sizeOf(body)
  return response
}

export const noteCode = (response: Response, code: ErrorCode): Response => {
  if (isWanted) (response as Noted)[codeOf] = code
  return response
}

/** `of`: its length, or the text that it sends. */
export const noteStream = <S extends ReadableStream<Uint8Array>>(stream: S, of: number | string): S => {
  if (isWanted) streamBytes.set(stream, typeof of === 'string' ? Buffer.byteLength(of) : of)
  return stream
}

/** 0 for a stream of unknown length. */
const sizeOf = (body: NotedBody): number => {
  if (typeof body === 'string') return Buffer.byteLength(body)
  if (body === null) return 0
  if (body instanceof Uint8Array) return body.length
  return body instanceof Blob ? body.size : (streamBytes.get(body) ?? 0)
}

/** The size of an answer's body. To be taken once. */
export const takeBytesOf = (response: Response): number => {
  if (response !== last) return (response as Noted)[bytesOf] ?? 0
  last = undefined
  return lastBytes
}

export const codeOfResponse = (response: Response): ErrorCode | undefined => (response as Noted)[codeOf]
