import { isBlobStoreMark, isMarkOf, newBlobStoreMark } from '../../core/files/blob-store-mark.ts'
import { type BlobStore, BlobStoreRefused } from '../../store/blob-store.ts'
import type { Files } from '../../store/files.ts'

// A store and the place of its files have the same mark, from the first upload on. It begins with the id of the store. A
// process that was given another place would answer that files are damaged, and write bytes where other processes do not find
// them. With the place of another store it could remove the bytes of that one.

export type StoredMark = Pick<Files, 'storeId' | 'readMark' | 'writeMark' | 'adoptBlobs'>

const advice = 'Give every process on a store the same --files; if it is right, check that its disk is mounted.'

const refuse = (blobStore: BlobStore, found: string): BlobStoreRefused =>
  new BlobStoreRefused(`${blobStore.description} is not where the files of this store are. ${found}`)

/** Throws BlobStoreRefused if the mark is not one of this store. */
const requireOwn = (blobStore: BlobStore, mark: string, storeId: string): void => {
  if (isMarkOf(mark, storeId)) return
  const found = isBlobStoreMark(mark) ? 'It has the mark of another store.' : 'Its mark is damaged.'
  throw refuse(
    blobStore,
    `${found} Give another --files; --adopt-files takes it over, and that store is refused from then on.`,
  )
}

/**
 * Tells whether the store and the place have the same mark. False: the store has none yet. The place may have one of this store
 * then, of a first upload that was interrupted: the next one takes it over.
 */
export const checkMark = async (blobStore: BlobStore, stored: StoredMark): Promise<boolean> => {
  const [storeId, inStore, inBlobStore] = [await stored.storeId(), await stored.readMark(), await blobStore.readMark()]
  if (inBlobStore !== undefined) requireOwn(blobStore, inBlobStore, storeId)
  if (inStore === undefined) return false
  if (inBlobStore === inStore) return true
  const found =
    inBlobStore === undefined
      ? 'It has no mark, and the store has files: their bytes are elsewhere.'
      : 'It has the mark of another place.'
  throw refuse(blobStore, `${found} ${advice}`)
}

/** Marks the blob store at the first upload, and then the store. Several processes at once all end with the same mark. */
export const makeMark = async (blobStore: BlobStore, stored: StoredMark): Promise<void> => {
  const storeId = await stored.storeId()
  const inBlobStore = await blobStore.writeMark(newBlobStoreMark(storeId))
  requireOwn(blobStore, inBlobStore, storeId)
  if ((await stored.writeMark(inBlobStore)) !== inBlobStore)
    throw refuse(blobStore, `Another process uses another place. ${advice}`)
}

/**
 * Makes the place of another store that of this one. Returns how many blobs of the store it may have the bytes of, or undefined
 * if there was nothing to do: the place is of this store, or has no mark because its disk is not mounted.
 * The store is changed first, and gets another mark, so that a place that it had before is refused. After a crash in between
 * the place is still refused, and the next attempt continues.
 */
export const adoptBlobStore = async (blobStore: BlobStore, stored: StoredMark): Promise<number | undefined> => {
  const [storeId, inStore, inBlobStore] = [await stored.storeId(), await stored.readMark(), await blobStore.readMark()]
  if (inBlobStore === undefined) return undefined
  if (isMarkOf(inBlobStore, storeId) && (inStore === undefined || inStore === inBlobStore)) return undefined
  const blobs = await stored.adoptBlobs()
  await blobStore.writeMark(await stored.writeMark(newBlobStoreMark(storeId)), 'replace')
  return blobs
}
