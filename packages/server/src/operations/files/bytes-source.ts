import { isStoreBlobId } from '../../core/files/blob-id.ts'
import { BlobMissing, type BlobPlace } from '../../store/blob-place.ts'
import type { Engine } from '../../store/engine.ts'
import type { StoredFile } from './file-access.ts'

/** Where the bytes of one file are read. */
export type BytesSource = Pick<BlobPlace, 'description' | 'read'>

async function* oneChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  if (chunk.length > 0) yield chunk
}

/**
 * The bytes of a small file, from the store. They are in the same pages as records, which have checksums, so they are
 * compared with their digest: a changed bit must not be served. `BlobMissing` then too.
 */
const storeSource = (
  engine: Pick<Engine, 'files' | 'description'>,
  { bucket, content }: Pick<StoredFile, 'bucket' | 'content'>,
  keySeq: number,
): BytesSource => {
  const description = `the store (${engine.description})`
  return {
    description,
    async read(id, start, end) {
      const bytes = await engine.files.readBytes(bucket, id, keySeq)
      const isWhole =
        bytes !== undefined && new Bun.CryptoHasher('sha256').update(bytes).digest('hex') === content.sha256
      if (!isWhole) throw new BlobMissing(id, description)
      return oneChunk(bytes.subarray(start, end))
    },
  }
}

/** `keySeq`: the API key that asks, as in `Records.get`. */
export const bytesSourceOf = (
  engine: Pick<Engine, 'files' | 'description'>,
  place: BlobPlace,
  file: Pick<StoredFile, 'bucket' | 'content'>,
  keySeq: number,
): BytesSource => (isStoreBlobId(file.content.blob) ? storeSource(engine, file, keySeq) : place)
