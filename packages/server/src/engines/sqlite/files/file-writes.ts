import { CubbyError } from '../../../core/errors.ts'
import { isStoreBlobId, neverDueMs } from '../../../core/files/blob-id.ts'
import {
  changeFile,
  deadUntilMs,
  type FileToWrite,
  type FoundFile,
  pendingUntilMs,
  putFile,
  removalRetryMs,
  removeFile,
} from '../../../core/files/file-changes.ts'
import { fileData, fileEntries, fileKey } from '../../../core/files/file-record.ts'
import { takeChecksum } from '../../../core/records/checksum.ts'
import type { FileChangeResult, FileChanges, FileToCommit, FileWriteResult } from '../../../store/files.ts'
import type { Condition, PutOperation, WriteResult } from '../../../store/records.ts'
import type { Connection } from '../connection.ts'
import type { RecordWrites } from '../records/record-writes.ts'
import { damagedRecord } from '../records/row-check.ts'
import type { Fence } from '../registry/registry-writes.ts'

/** A blob that a row of a bucket refers to. */
interface BlobReference {
  tableId: number
  blobId: string
}

/** The blobs of those rows that are files. The values of tables never begin with `f`. */
export const blobsOfRows = (db: Connection, ids: number[]): BlobReference[] =>
  db.all(
    `SELECT table_id AS tableId, substr(CAST(i3_hash AS TEXT), 2) AS blobId FROM records
     WHERE id IN (SELECT value FROM json_each(?1)) AND i3_hash >= x'66' AND i3_hash < x'67'`,
    JSON.stringify(ids),
  )

/**
 * Call it when the rows that referred to the blobs are gone. A blob that another row refers to stays live: a damaged row may
 * have named the blob of another file. A blob that is never due stays so.
 */
export const markDead = (db: Connection, blobs: BlobReference[], nowMs: number): void => {
  const mark = `UPDATE blobs SET state = 'dead', due_at = max(coalesce(due_at, 0), ?3)
    WHERE id = ?1 AND table_id = ?2 AND state = 'live'
      AND NOT EXISTS (SELECT 1 FROM records WHERE table_id = ?2 AND i3_hash = CAST('f' || ?1 AS BLOB))`
  for (const { tableId, blobId } of blobs) db.change(mark, blobId, tableId, deadUntilMs(nowMs))
}

type CommittedFile = Omit<FileToCommit, 'bytes'>
type Applied = Extract<WriteResult, { applied: true }>
type Refused = Extract<WriteResult, { applied: false }>

interface FileRow {
  updated_at: number
  ttl: number | null
  data: string
  blobId: string | null
}

/** The file under a name, expired or not. Throws if it is damaged and there is a condition: none can be checked against it. */
const findFile = (
  db: Connection,
  tableId: number,
  name: string,
  condition: Condition | undefined,
): FoundFile | undefined => {
  const key = fileKey(name)
  const row = db.one<FileRow>(
    `SELECT updated_at, ttl, data, substr(CAST(i3_hash AS TEXT), 2) AS blobId FROM records
     WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`,
    ...[tableId, key.hashKey, key.rangeKey],
  )
  if (row === undefined) return undefined
  const record = { ...key, data: row.data, ttlSeconds: row.ttl, updatedAtMs: row.updated_at }
  // This removes the checksum from `data`, too.
  const isDamaged = takeChecksum(tableId, record) === 'damaged'
  if (isDamaged && condition !== undefined) throw damagedRecord(record)
  return { ...record, blob: row.blobId ?? undefined, isDamaged }
}

const putRecord = (
  { records }: Writers,
  tableId: number,
  name: string,
  { content, ttlSeconds, updatedAtMs }: FileToWrite,
  nowMs: number,
): Applied => {
  const write = (version: number): Applied => {
    const put: PutOperation = {
      ...{ op: 'put', ...fileKey(name), data: fileData(content), ttlSeconds, condition: undefined },
      ...{ entries: fileEntries(name, content, version), updatedAtMs: version },
    }
    return records.write(tableId, [put], nowMs) as Applied
  }
  const result = write(updatedAtMs)
  // Only the writer of records finds the version of a damaged row. The file is written once more then: an index entry holds it.
  const written = (result.results[0] as { updatedAtMs: number }).updatedAtMs
  return written === updatedAtMs ? result : write(written + 1)
}

const markBlobDead = (db: Connection, tableId: number, blobId: string | undefined, nowMs: number): void => {
  if (blobId !== undefined) markDead(db, [{ tableId, blobId }], nowMs)
}

const refused = ({ current }: { current: number | undefined }): Refused => ({
  ...{ applied: false, failedOperation: 0, current },
})

interface Writers {
  db: Connection
  records: RecordWrites
}

interface OfBucket {
  fence: Fence
  nowMs: number
}

interface OfFile extends OfBucket {
  name: string
  condition: Condition | undefined
}

/** The changes of files and blobs, inside the transaction that is open on `db`. */
export const fileCommands = {
  beginBlob({ db }: Writers, { fence, blobId, nowMs }: OfBucket & { blobId: string }): void {
    db.change(`INSERT INTO blobs VALUES (?1, ?2, 'pending', ?3)`, blobId, fence.tableId, pendingUntilMs(nowMs))
  },

  keepBlobs({ db }: Writers, { blobIds, nowMs }: { blobIds: string[]; nowMs: number }): void {
    const keep = `UPDATE blobs SET due_at = max(due_at, ?2) WHERE id = ?1 AND state = 'pending'`
    for (const id of blobIds) db.change(keep, id, pendingUntilMs(nowMs))
  },

  /**
   * `bytes`: one character for each byte, if the store keeps them. Then the blob has no row before, and gets none if the
   * condition does not hold.
   */
  commitFile(
    writers: Writers,
    { fence, file, bytes, nowMs }: OfBucket & { file: CommittedFile; bytes?: string },
  ): FileWriteResult {
    const { db } = writers
    const tableId = fence.tableId!
    const { name, content, condition } = file
    const { blob } = content
    const pending = `SELECT 1 FROM blobs WHERE id = ?1 AND table_id = ?2 AND state = 'pending'`
    if (bytes === undefined && db.one(pending, blob, tableId) === undefined) {
      throw new CubbyError('unavailable', 'The upload was given up because it made no progress; nothing was stored.', {
        hint: 'Send the file again.',
      })
    }
    const change = putFile(findFile(db, tableId, name, condition), file, nowMs)
    if (!change.applied) {
      const drop = `UPDATE blobs SET state = 'dead', due_at = ?2 WHERE id = ?1`
      if (bytes === undefined) db.change(drop, blob, deadUntilMs(nowMs))
      return refused(change)
    }
    const result = putRecord(writers, tableId, name, change.put, nowMs)
    if (bytes === undefined) db.change(`UPDATE blobs SET state = 'live', due_at = NULL WHERE id = ?1`, blob)
    else {
      db.change(`INSERT INTO blobs VALUES (?1, ?2, 'live', NULL)`, blob, tableId)
      db.change('INSERT INTO blob_bytes (id, bytes) VALUES (?1, ?2)', blob, Buffer.from(bytes, 'latin1'))
    }
    markBlobDead(db, tableId, change.deadBlob, nowMs)
    return result
  },

  abandonBlob({ db }: Writers, { blobId, nowMs }: { blobId: string; nowMs: number }): void {
    db.change(`UPDATE blobs SET state = 'dead', due_at = ?2 WHERE id = ?1 AND state = 'pending'`, blobId, nowMs)
  },

  changeFile(
    writers: Writers,
    { fence, name, changes, condition, nowMs }: OfFile & { changes: FileChanges },
  ): FileChangeResult {
    const tableId = fence.tableId!
    const file = findFile(writers.db, tableId, name, condition ?? 'exists')
    const change = changeFile(file, changes, condition, nowMs)
    if (!change.applied) return refused(change)
    const { content, ttlSeconds } = change.put
    return { ...putRecord(writers, tableId, name, change.put, nowMs), content, ttlSeconds }
  },

  removeFile({ db, records }: Writers, { fence, name, condition, nowMs }: OfFile): FileWriteResult {
    const tableId = fence.tableId!
    const change = removeFile(findFile(db, tableId, name, condition), condition, nowMs)
    if (!change.applied) return refused(change)
    const { deleted } = change
    if (deleted) records.write(tableId, [{ op: 'delete', ...fileKey(name), condition: undefined }], nowMs)
    markBlobDead(db, tableId, change.deadBlob, nowMs)
    return { applied: true, results: [{ deleted }] }
  },

  takeDueBlobs(
    { db }: Writers,
    { nowMs, rowsMax, keptMs }: { nowMs: number; rowsMax: number; keptMs: number },
  ): string[] {
    const held = db.one<{ value: number }>(`SELECT value FROM meta WHERE name = 'files_held_until'`)
    if (held!.value > nowMs) return []
    const dueMs = nowMs - keptMs
    const due = db.all<{ id: string }>(
      'SELECT id FROM blobs WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2',
      dueMs,
      rowsMax,
    )
    const take = `UPDATE blobs SET state = 'removing', due_at = ?2 WHERE id = ?1`
    for (const { id } of due) db.change(take, id, dueMs + removalRetryMs)
    return due.map(({ id }) => id)
  },

  forgetBlobs({ db }: Writers, { blobIds }: { blobIds: string[] }): void {
    for (const id of blobIds) {
      const isGone = db.change(`DELETE FROM blobs WHERE id = ?1 AND state = 'removing'`, id) > 0
      if (isGone && isStoreBlobId(id)) db.change('DELETE FROM blob_bytes WHERE id = ?1', id)
    }
  },

  holdBlobs({ db }: Writers, { untilMs }: { untilMs: number }): void {
    db.change(`UPDATE meta SET value = max(value, ?1) WHERE name = 'files_held_until'`, untilMs)
  },

  adoptBlobs({ db }: Writers, _: object): number {
    db.change('DELETE FROM file_place')
    return db.change(`UPDATE blobs SET due_at = ?1 WHERE id < 'f'`, neverDueMs)
  },

  writeFileMark({ db }: Writers, { mark }: { mark: string }): string {
    db.change('INSERT INTO file_place SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM file_place)', mark)
    return db.one<{ mark: string }>('SELECT mark FROM file_place')!.mark
  },
}
