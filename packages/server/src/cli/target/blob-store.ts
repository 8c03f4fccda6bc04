import { join, resolve } from 'node:path'
import type { StoreLocation } from '../../engines/open-engine.ts'
import { checkMark } from '../../files/blob-stores/check-mark.ts'
import { openBlobStore } from '../../files/blob-stores/open-blob-store.ts'
import type { BlobStore } from '../../store/blob-store.ts'
import type { Engine } from '../../store/engine.ts'
import type { Flag } from '../arguments.ts'

// Blob stores for commands that use the bytes of files themselves.

export const filesFlag: Flag = {
  type: 'string',
  value: 'PLACE',
  help: 'the bytes of files: a directory or s3://BUCKET/PREFIX (with --data: DIR/files)',
}

/** The place of a store's files: as given, or the default of the embedded engine. Undefined if there is neither. */
export const blobStoreUrlAt = ({ data, store }: StoreLocation, given: string | undefined): string | undefined =>
  given ?? (store === undefined ? join(resolve(data), 'files') : undefined)

export const openBlobStoreAt = (value: string): Promise<BlobStore> =>
  openBlobStore(value, { env: process.env, now: () => Date.now() })

/** The place of the store that `engine` has open. Throws BlobStoreRefused if it is that of another store. */
export const openBlobStoreOf = async (engine: Engine, value: string): Promise<BlobStore> => {
  const blobStore = await openBlobStoreAt(value)
  await checkMark(blobStore, engine.files)
  return blobStore
}
