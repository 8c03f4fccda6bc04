import { createHash } from 'node:crypto'
import { isStoreBlobId } from '../../core/files/blob-id.ts'
import { fileFault } from '../../core/files/file-fault.ts'
import { type FileContent, readFileContent } from '../../core/files/file-record.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { BlobMissing, type BlobStore } from '../../store/blob-store.ts'
import type { Dump } from '../../store/transfer.ts'

// The bytes of files, for backups, copies and checks of a whole store. The list of files is a snapshot; a hold of the sweep
// keeps the bytes of all of them where they are.

interface FileBytes extends Pick<FileContent, 'size' | 'sha256' | 'crc32' | 'blob' | 'contentType'> {
  /** `db/bucket`. */
  bucket: string
  /** The id of the bucket. */
  tableId: number
  name: string
}

/** All files, also of deleted buckets that can still be restored, and expired ones that are not swept yet. */
async function* filesOf(dump: Dump): AsyncIterable<FileBytes> {
  for await (const { id, kind, db, name: bucket } of dump.tables()) {
    if (kind !== 'bucket') continue
    for await (const records of dump.records(id, 0)) {
      for (const { rangeKey, data } of records) {
        const { size, sha256, crc32, blob, contentType } = readFileContent(data)
        yield { bucket: `${db}/${bucket}`, tableId: id, name: rangeKey, size, sha256, crc32, blob, contentType }
      }
    }
  }
}

/** The bytes of all files together, for a line of progress. */
export const sumFileBytes = async (dump: Dump): Promise<number> => {
  let bytes = 0
  for await (const { size } of filesOf(dump)) bytes += size
  return bytes
}

export const hasFiles = async (dump: Dump): Promise<boolean> => {
  for await (const _ of dump.blobs()) return true
  return false
}

/** Tells whether a place has bytes of the store. The ids of blobs that the store keeps are after all others. */
export const hasFilesInBlobStore = async (dump: Dump): Promise<boolean> => {
  for await (const { id } of dump.blobs()) return !isStoreBlobId(id)
  return false
}

const showFile = ({ bucket, name }: FileBytes): string => `file ${JSON.stringify(name)} of ${bucket}`

export interface CopiedFiles {
  files: number
  bytes: number
  /** Those that were not in the target already. */
  copied: number
}

const atOnceMax = 8

/** Runs `work` for every item, several at once. The first error ends it, after what has begun. */
export const forEachAtOnce = async <Item>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const running = new Set<Promise<void>>()
  const errors: unknown[] = []
  for await (const item of items) {
    const done: Promise<void> = work(item)
      .catch((error) => void errors.push(error))
      .finally(() => running.delete(done))
    running.add(done)
    if (running.size >= atOnceMax) await Promise.race(running)
    if (errors.length > 0) break
  }
  await Promise.all(running)
  if (errors.length > 0) throw errors[0]
}

/** The source and the target of the bytes. */
interface CopyBlobStores {
  from: BlobStore
  to: BlobStore
}

/**
 * Copies the bytes of all files that `to` does not have yet, and compares each with its digest on the way. Bytes that the store
 * keeps are copied with its rows; they are only compared here. `places` may be undefined if there are no others.
 */
export const copyFiles = async (
  dump: Dump,
  blobStores: CopyBlobStores | undefined,
  onProgress: (copied: CopiedFiles) => void = () => {},
): Promise<CopiedFiles> => {
  const total: CopiedFiles = { files: 0, bytes: 0, copied: 0 }
  await forEachAtOnce(checkedInStore(dump), async ({ file, isInStore, fault }) => {
    if (fault !== undefined) throw new OperatorError(`${showFile(file)}: ${fault}; see cubby verify`)
    if (!isInStore && (await blobStores!.to.size(file.blob)) !== file.size) {
      await copyBlob(file, blobStores!.from, blobStores!.to)
      total.copied++
    }
    total.files++
    total.bytes += file.size
    onProgress(total)
  })
  return total
}

const copyBlob = async (file: FileBytes, from: BlobStore, to: BlobStore): Promise<void> => {
  // Both may be the same place: then nothing may be removed there.
  if (from.description === to.description) throw changed(file, from)
  const chunks = await readAll(file, from)
  // A part of an interrupted copy, or a blob that was cut.
  await to.remove(file.blob)
  const writer = await to.write(file.blob, file.size)
  try {
    const hash = createHash('sha256')
    for await (const chunk of chunks) {
      hash.update(chunk)
      await writer.write(chunk)
    }
    const sha256 = hash.digest('hex')
    if (sha256 !== file.sha256) throw changed(file, from)
    await writer.finish(sha256)
  } catch (error) {
    await writer.abort()
    throw error
  }
}

const changedBytes = (blobStore: BlobStore): string =>
  `its bytes in ${blobStore.description} are not those that were uploaded`

const changed = (file: FileBytes, blobStore: BlobStore): OperatorError =>
  new OperatorError(`${showFile(file)}: ${changedBytes(blobStore)}; see cubby verify`)

const readAll = async (file: FileBytes, blobStore: BlobStore): Promise<AsyncIterable<Uint8Array>> => {
  try {
    return await blobStore.read(file.blob, 0, file.size)
  } catch (error) {
    if (!(error instanceof BlobMissing)) throw error
    throw new OperatorError(`${showFile(file)}: its bytes are not in ${blobStore.description}; see cubby verify`)
  }
}

/** A finding of a check of the files. */
interface FileFinding {
  tableId: number
  line: string
}

/**
 * One finding for each file that no request could have made, or whose bytes are missing or of another size; with `readBytes`,
 * also of another digest. Bytes that the store keeps are always read. Without `place` only they are. Returns how many bytes the
 * files should have.
 */
export const checkFiles = async (
  dump: Dump,
  blobStore: BlobStore | undefined,
  readBytes: boolean,
  onFinding: (finding: FileFinding) => void,
  onProgress: (bytes: number) => void = () => {},
): Promise<{ bytes: number }> => {
  let bytes = 0
  await forEachAtOnce(checkedInStore(dump), async ({ file, isInStore, fault: found }) => {
    bytes += file.size
    const fault = found ?? (isInStore ? undefined : blobStore && (await findFault(file, blobStore, readBytes)))
    if (fault !== undefined) onFinding({ tableId: file.tableId, line: `${showFile(file)}: ${fault}` })
    onProgress(bytes)
  })
  return { bytes }
}

/** Files are checked one after another, because a dump cannot read several at once. */
async function* checkedInStore(
  dump: Dump,
): AsyncIterable<{ file: FileBytes; isInStore: boolean; fault: string | undefined }> {
  for await (const file of filesOf(dump)) {
    const isInStore = isStoreBlobId(file.blob)
    yield { file, isInStore, fault: fileFault(file) ?? (isInStore ? await findFaultInStore(file, dump) : undefined) }
  }
}

const findFaultInStore = async (file: FileBytes, dump: Dump): Promise<string | undefined> => {
  const bytes = await dump.blobBytes({ id: file.blob, tableId: file.tableId })
  if (bytes === undefined) return `its bytes are not in the store (blob ${file.blob})`
  const isSame = createHash('sha256').update(bytes).digest('hex') === file.sha256
  return isSame ? undefined : `its bytes in the store are not those that were uploaded (blob ${file.blob})`
}

const findFault = async (file: FileBytes, blobStore: BlobStore, readBytes: boolean): Promise<string | undefined> => {
  const size = await blobStore.size(file.blob)
  if (size === undefined) return `its bytes are not in ${blobStore.description} (blob ${file.blob})`
  if (size !== file.size) return `it has ${file.size} bytes, but blob ${file.blob} has ${size}`
  if (!readBytes) return undefined
  const hash = createHash('sha256')
  let sum = 0
  try {
    for await (const chunk of await blobStore.read(file.blob, 0, file.size)) {
      hash.update(chunk)
      sum = Bun.hash.crc32(chunk, sum)
    }
  } catch (error) {
    return `its bytes cannot be read: ${(error as Error).message}`
  }
  const isSame = hash.digest('hex') === file.sha256 && sum === (file.crc32 ?? sum)
  return isSame ? undefined : `${changedBytes(blobStore)} (blob ${file.blob})`
}
