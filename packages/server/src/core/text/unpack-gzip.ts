import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** Unpacks gzip of any number of members as it arrives. A piece is unpacked when the one before was taken. */
export async function* unpackGzip(packed: AsyncIterable<Uint8Array>, pieceBytes: number): AsyncGenerator<Buffer, void> {
  let packedBytes = 0
  const counted = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const piece of packed) {
      packedBytes += piece.length
      yield piece
    }
  }
  const source = Readable.from(counted(), { highWaterMark: 1 })
  const gunzip = createGunzip({ chunkSize: pieceBytes })
  source.on('error', (error) => gunzip.destroy(error))
  try {
    for await (const piece of source.pipe(gunzip)) yield piece
    // A zero after a member is taken for padding, and everything after it would be lost without an error.
    if (gunzip.bytesWritten < packedBytes) {
      throw Object.assign(new Error('a zero follows a member'), { code: 'Z_DATA_ERROR' })
    }
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}
