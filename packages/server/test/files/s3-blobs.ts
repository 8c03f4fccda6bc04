import { createHash } from 'node:crypto'
import { newBlobId } from '../../src/core/files/blob-id.ts'
import type { BlobStore } from '../../src/store/blob-store.ts'

// The tests of blob stores use these functions.

export const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export const newId = (): string => newBlobId(Date.now())

/** Uploads the bytes in chunks; returns the id. */
export const putBlob = async (blobStore: BlobStore, bytes: Uint8Array, chunkBytes = 100_000): Promise<string> => {
  const id = newId()
  const writer = await blobStore.write(id, bytes.length)
  for (let at = 0; at < bytes.length; at += chunkBytes) await writer.write(bytes.subarray(at, at + chunkBytes))
  await writer.finish(digest(bytes))
  return id
}

export const collect = async (chunks: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(chunks))
