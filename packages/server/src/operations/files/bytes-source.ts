import { isStoreBlobId } from '../../core/files/blob-id.ts'
import { sha256Of } from '../../core/files/content-digest.ts'
import { BlobChanged, BlobMissing, type BlobStore } from '../../store/blob-store.ts'
import type { Engine } from '../../store/engine.ts'
import type { StoredFile } from './file-access.ts'

/** The source of the bytes of one file. */
export interface BytesSource extends Pick<BlobStore, 'description' | 'read' | 'size'> {
  /** It has compared all bytes with their digest before it gives any. */
  readonly isCompared?: true
}

async function* oneChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  if (chunk.length > 0) yield chunk
}

/** The bytes of a small file, from the store. They are read as a whole, also for a range or for their length. */
const storeSource = (
  engine: Pick<Engine, 'files' | 'description'>,
  { bucket, content }: Pick<StoredFile, 'bucket' | 'content'>,
  keySeq: number,
): BytesSource => {
  const description = `the store (${engine.description})`
  const readAll = async (id: string): Promise<Uint8Array> => {
    const bytes = await engine.files.readBytes(bucket, id, keySeq)
    if (bytes === undefined) throw new BlobMissing(id, description)
    if (sha256Of(bytes) !== content.sha256) throw new BlobChanged(id, description)
    return bytes
  }
  return {
    description,
    isCompared: true,
    read: async (id, start, end) => oneChunk((await readAll(id)).subarray(start, end)),
    size: async (id) => (await readAll(id)).length,
  }
}

/** `keySeq`: the API key that asks, as in `Records.get`. */
export const bytesSourceOf = (
  engine: Pick<Engine, 'files' | 'description'>,
  blobStore: BlobStore,
  file: Pick<StoredFile, 'bucket' | 'content'>,
  keySeq: number,
): BytesSource => (isStoreBlobId(file.content.blob) ? storeSource(engine, file, keySeq) : blobStore)
