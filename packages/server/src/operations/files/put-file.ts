import { newBlobId } from '../../core/files/blob-id.ts'
import { digestMismatch } from '../../core/files/content-digest.ts'
import { fileTooLarge } from '../../core/files/file-options.ts'
import type { FileContent, Visibility } from '../../core/files/file-record.ts'
import type { BlobPlace, BlobWriter } from '../../store/blob-place.ts'
import type { Condition } from '../../store/records.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf } from '../access.ts'
import { requireBucket, requirePlace, writeInBucket } from '../buckets/bucket-access.ts'
import { type FileAddress, fileConditionFailed, holds, readFile, type StoredFile } from './file-access.ts'

/** Everything about an upload but its bytes. */
export interface PutFileInput extends FileAddress {
  contentType: string
  visibility: Visibility
  /** JSON text. */
  metadata: string
  ttlSeconds: number | null
  condition: Condition | undefined
  /** The digest that the caller declares, in hex. */
  sha256: string | undefined
  /** How many bytes the caller declares. */
  bytes: number | undefined
  bytesMax: number
}

/** An upload that may begin. */
export interface AcceptedUpload {
  place: BlobPlace
  bucket: Table
}

/** The blobs that are being written, so that no sweep takes one of them for abandoned. */
export interface BlobsInProgress {
  add(blobId: string): void
  delete(blobId: string): void
}

/** What can be decided before the bytes arrive. */
export const acceptUpload = async (access: Access, input: PutFileInput, nowMs: number): Promise<AcceptedUpload> => {
  const place = requirePlace(access)
  const bucket = await requireBucket(access, input, nowMs)
  const { condition } = input
  if (condition !== undefined) {
    const current = (await readFile(access, bucket, input.name, nowMs))?.updatedAtMs
    if (!holds(condition, current)) throw fileConditionFailed(input, condition, current)
  }
  return { place, bucket }
}

/** The bytes go to their place while they arrive. */
const writeBytes = async (
  writer: BlobWriter,
  chunks: AsyncIterable<Uint8Array>,
  { sha256: declared, bytesMax }: PutFileInput,
): Promise<{ size: number; sha256: string }> => {
  const hasher = new Bun.CryptoHasher('sha256')
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > bytesMax) throw fileTooLarge(bytesMax)
    hasher.update(chunk)
    await writer.write(chunk)
  }
  const sha256 = hasher.digest('hex')
  if (declared !== undefined && declared !== sha256) throw digestMismatch(declared, sha256)
  return { size, sha256 }
}

/**
 * Stores the bytes and then the record. `now` is the time when the bytes have arrived; bucket and condition are judged
 * again then. If anything fails, the file with this name stays as it was.
 */
export const storeUpload = async (
  access: Access,
  { place, bucket }: AcceptedUpload,
  input: PutFileInput,
  chunks: AsyncIterable<Uint8Array>,
  now: () => number,
  inProgress?: BlobsInProgress,
): Promise<StoredFile> => {
  const { engine } = access
  const caller = callerOf(access)
  const { name, contentType, visibility, metadata, ttlSeconds, condition } = input
  const startedAtMs = now()
  const blob = newBlobId(startedAtMs)
  await writeInBucket(access, input, startedAtMs, () => engine.files.begin(caller, bucket, blob, startedAtMs))
  inProgress?.add(blob)
  let writer: BlobWriter | undefined
  try {
    writer = await place.write(blob, input.bytes)
    const { size, sha256 } = await writeBytes(writer, chunks, input)
    const finishing = writer
    // Once it is finished, the blob may only be removed by way of its row: a commit whose outcome is unknown may refer to it.
    writer = undefined
    await finishing.finish(sha256)
    const content: FileContent = { size, contentType, visibility, sha256, blob, metadata }
    const nowMs = now()
    const written = await writeInBucket(access, input, nowMs, () =>
      engine.files.commit(caller, bucket, { name, content, ttlSeconds, condition }, nowMs),
    )
    if (!written.applied) throw fileConditionFailed(input, condition, written.current)
    const { updatedAtMs } = written.results[0] as { updatedAtMs: number }
    return { name, content, ttlSeconds, updatedAtMs, bucketId: bucket.publicId! }
  } catch (error) {
    await writer?.abort()
    // If this fails too, the sweep finds the blob a day later.
    await engine.files.abandon(blob, now()).catch(() => {})
    throw error
  } finally {
    inProgress?.delete(blob)
  }
}

/** Puts a file whose bytes come from `chunks`. `now`: the time when they have arrived. */
export const putFile = async (
  access: Access,
  input: PutFileInput,
  chunks: AsyncIterable<Uint8Array>,
  nowMs: number,
  now = () => nowMs,
): Promise<StoredFile> => storeUpload(access, await acceptUpload(access, input, nowMs), input, chunks, now)
