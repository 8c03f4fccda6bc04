import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CubbyError } from '../core/errors.ts'
import { notGzip } from './body-faults.ts'

/** What is unpacked at once: a body of few bytes may have very many. */
const pieceBytes = 64 * 1024

/** Unpacks a body as it arrives. A piece is unpacked when the one before was taken. */
export async function* unpackGzip(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  // The bytes of a piece are valid until the next one is requested, and they are unpacked in another thread.
  const copies = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const piece of body) yield Buffer.from(piece)
  }
  const packed = Readable.from(copies(), { highWaterMark: 1 })
  const gunzip = createGunzip({ chunkSize: pieceBytes })
  packed.on('error', (error) => gunzip.destroy(error))
  try {
    for await (const piece of packed.pipe(gunzip)) yield piece
  } catch (error) {
    throw error instanceof CubbyError ? error : notGzip((error as Error).message)
  } finally {
    packed.destroy()
    gunzip.destroy()
  }
}
