import { newStoreBlobId } from '../../core/files/blob-id.ts'
import { sha256Of } from '../../core/files/content-digest.ts'
import type { FileContent } from '../../core/files/file-record.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf } from '../access.ts'
import { writeIn } from '../lifecycle.ts'
import { fileConditionFailed, type StoredFile } from './file-access.ts'
import type { PutFileInput } from './upload.ts'

// A small file costs one commit: no row before it, no file of its own, and no sync but that of the commit. The way of larger
// files has two commits and two syncs of files, which is most of the time of a small one.

/** Stores the bytes with the record, in one commit. Otherwise as `storeUpload`. */
export const storeInStore = async (
  access: Access,
  bucket: Table,
  bytes: Uint8Array,
  input: PutFileInput,
  now: () => number,
): Promise<StoredFile> => {
  const { name, contentType, visibility, metadata, ttlSeconds, condition } = input
  const sha256 = sha256Of(bytes)
  const nowMs = now()
  const blob = newStoreBlobId(nowMs)
  const content: FileContent = { size: bytes.length, contentType, visibility, sha256, blob, metadata }
  const file = { name, content, ttlSeconds, condition, bytes }
  const written = await writeIn('bucket', access, input, nowMs, () =>
    access.engine.files.commit(callerOf(access), bucket, file, nowMs),
  )
  if (!written.applied) throw fileConditionFailed(input, condition, written.current)
  const { updatedAtMs } = written.results[0] as { updatedAtMs: number }
  return { name, content, ttlSeconds, updatedAtMs, bucketId: bucket.publicId!, bucket }
}
