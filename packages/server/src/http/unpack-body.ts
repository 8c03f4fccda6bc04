import { CubbyError } from '../core/errors.ts'
import { unpackGzip } from '../core/text/unpack-gzip.ts'
import { notGzip } from './body-faults.ts'

/** What is unpacked at once: a body of few bytes may have very many. */
const pieceBytes = 64 * 1024

/** Unpacks a body as it arrives. */
export async function* unpackBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  // The bytes of a piece are valid until the next one is requested, and they are unpacked in another thread.
  const copies = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const piece of body) yield Buffer.from(piece)
  }
  try {
    yield* unpackGzip(copies(), pieceBytes)
  } catch (error) {
    throw error instanceof CubbyError ? error : notGzip((error as Error).message)
  }
}
