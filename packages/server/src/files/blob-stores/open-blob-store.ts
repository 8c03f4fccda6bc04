import type { Log } from '../../core/log.ts'
import { type BlobStore, BlobStoreUrlRefused } from '../../store/blob-store.ts'
import { DirectoryBlobStore } from './directory.ts'

// The only file that knows which kinds of places exist.

interface BlobStoreContext {
  env: Record<string, string | undefined>
  now(): number
  log?: Log
}

type MakeBlobStore = (value: string, surroundings: BlobStoreContext) => Promise<BlobStore>

/** Kinds of blob stores by the scheme of the URL. A kind is loaded when it is used. */
const kinds = new Map<string, MakeBlobStore>([
  ['s3', async (url, { env, log }) => (await import('./s3.ts')).makeS3BlobStore(url, env, log)],
])

/** The place that `--files` names: a directory, or a URL. Nothing is read or written yet. */
export const makeBlobStore: MakeBlobStore = async (value, surroundings) => {
  if (value === '') throw new BlobStoreUrlRefused('--files is empty; it takes a directory or s3://BUCKET/PREFIX')
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(value)?.[1]?.toLowerCase()
  if (scheme === undefined) return new DirectoryBlobStore(value, { now: surroundings.now })
  const make = kinds.get(scheme)
  // The rest of the URL is not repeated: it may contain a password.
  if (make === undefined) {
    throw new BlobStoreUrlRefused(`--files begins with "${scheme}://"; it takes a directory or s3://BUCKET/PREFIX`)
  }
  return make(value, surroundings)
}

/** The same; throws OperatorError if the place cannot be used now. A directory is made at the first upload. */
export const openBlobStore: MakeBlobStore = async (value, surroundings) => {
  const blobStore = await makeBlobStore(value, surroundings)
  await blobStore.probe?.()
  return blobStore
}
