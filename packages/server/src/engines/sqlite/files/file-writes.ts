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
  db
    .prepare<BlobReference, [string]>(
      `SELECT table_id AS tableId, substr(CAST(i3_hash AS TEXT), 2) AS blobId FROM records
       WHERE id IN (SELECT value FROM json_each(?1)) AND i3_hash >= x'66' AND i3_hash < x'67'`,
    )
    .all(JSON.stringify(ids))

/**
 * After the rows that referred to them are gone. A blob that another row refers to stays: a damaged row may have named
 * the blob of another file. One that is never due stays so.
 */
export const markDead = (db: Connection, blobs: BlobReference[], nowMs: number): void => {
  const mark = db.prepare<unknown, [string, number, number]>(
    `UPDATE blobs SET state = 'dead', due_at = max(coalesce(due_at, 0), ?3) WHERE id = ?1 AND table_id = ?2 AND state = 'live'
     AND NOT EXISTS (SELECT 1 FROM records WHERE table_id = ?2 AND i3_hash = CAST('f' || ?1 AS BLOB))`,
  )
  for (const { tableId, blobId } of blobs) mark.run(blobId, tableId, deadUntilMs(nowMs))
}

type Value = string | number

type CommittedFile = Omit<FileToCommit, 'bytes'>
type Applied = Extract<WriteResult, { applied: true }>
type Refused = Extract<WriteResult, { applied: false }>

interface FileRow {
  updated_at: number
  ttl: number | null
  data: string
  blobId: string | null
}

/** Changes files and blobs inside the transaction that is open on `db`. */
export class FileWrites {
  readonly #db: Connection
  readonly #records: RecordWrites

  constructor(db: Connection, records: RecordWrites) {
    this.#db = db
    this.#records = records
  }

  #run(sql: string, ...values: Value[]): number {
    return this.#db.prepare<unknown, Value[]>(sql).run(...values).changes
  }

  #one<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#db.prepare<Row, Value[]>(sql).get(...values) ?? undefined
  }

  /** Expired or not. No condition can be checked against a damaged one. */
  #find(tableId: number, name: string, condition: Condition | undefined): FoundFile | undefined {
    const key = fileKey(name)
    const row = this.#one<FileRow>(
      `SELECT updated_at, ttl, data, substr(CAST(i3_hash AS TEXT), 2) AS blobId FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`,
      ...[tableId, key.hashKey, key.rangeKey],
    )
    if (row === undefined) return undefined
    const record = { ...key, data: row.data, ttlSeconds: row.ttl, updatedAtMs: row.updated_at }
    // It takes the checksum off `data`, too.
    const isDamaged = takeChecksum(tableId, record) === 'damaged'
    if (isDamaged && condition !== undefined) throw damagedRecord(record)
    return { ...record, blob: row.blobId ?? undefined, isDamaged }
  }

  begin(tableId: number, blobId: string, nowMs: number): void {
    this.#run(`INSERT INTO blobs VALUES (?1, ?2, 'pending', ?3)`, blobId, tableId, pendingUntilMs(nowMs))
  }

  keepAlive(blobIds: string[], nowMs: number): void {
    for (const id of blobIds) {
      this.#run(
        `UPDATE blobs SET due_at = max(due_at, ?2) WHERE id = ?1 AND state = 'pending'`,
        id,
        pendingUntilMs(nowMs),
      )
    }
  }

  abandon(blobId: string, nowMs: number): void {
    this.#run(`UPDATE blobs SET state = 'dead', due_at = ?2 WHERE id = ?1 AND state = 'pending'`, blobId, nowMs)
  }

  /** `bytes`: those that the store keeps, as a character each. */
  commit(tableId: number, file: CommittedFile, bytes: string | undefined, nowMs: number): FileWriteResult {
    return bytes === undefined
      ? this.#commitPending(tableId, file, nowMs)
      : this.#commitWithBytes(tableId, file, bytes, nowMs)
  }

  /** Nothing of the blob is there before, and nothing remains if the condition does not hold. */
  #commitWithBytes(tableId: number, file: CommittedFile, bytes: string, nowMs: number): FileWriteResult {
    const { name, content, condition } = file
    const change = putFile(this.#find(tableId, name, condition), file, nowMs)
    if (!change.applied) return refused(change)
    const result = this.#put(tableId, name, change.put, nowMs)
    this.#run(`INSERT INTO blobs VALUES (?1, ?2, 'live', NULL)`, content.blob, tableId)
    this.#db
      .prepare<unknown, [string, Uint8Array]>('INSERT INTO blob_bytes (id, bytes) VALUES (?1, ?2)')
      .run(content.blob, Buffer.from(bytes, 'latin1'))
    this.#markDead(tableId, change.deadBlob, nowMs)
    return result
  }

  #commitPending(tableId: number, file: CommittedFile, nowMs: number): FileWriteResult {
    const { name, content, condition } = file
    const { blob } = content
    const pending = `SELECT 1 FROM blobs WHERE id = ?1 AND table_id = ?2 AND state = 'pending'`
    if (this.#one(pending, blob, tableId) === undefined) {
      throw new CubbyError('unavailable', 'The upload was given up because it made no progress; nothing was stored.', {
        hint: 'Send the file again.',
      })
    }
    const change = putFile(this.#find(tableId, name, condition), file, nowMs)
    if (!change.applied) {
      this.#run(`UPDATE blobs SET state = 'dead', due_at = ?2 WHERE id = ?1`, blob, deadUntilMs(nowMs))
      return refused(change)
    }
    const result = this.#put(tableId, name, change.put, nowMs)
    this.#run(`UPDATE blobs SET state = 'live', due_at = NULL WHERE id = ?1`, blob)
    this.#markDead(tableId, change.deadBlob, nowMs)
    return result
  }

  change(
    tableId: number,
    name: string,
    changes: FileChanges,
    condition: Condition | undefined,
    nowMs: number,
  ): FileChangeResult {
    const change = changeFile(this.#find(tableId, name, condition ?? 'exists'), changes, condition, nowMs)
    if (!change.applied) return refused(change)
    const { content, ttlSeconds } = change.put
    return { ...this.#put(tableId, name, change.put, nowMs), content, ttlSeconds }
  }

  remove(tableId: number, name: string, condition: Condition | undefined, nowMs: number): FileWriteResult {
    const change = removeFile(this.#find(tableId, name, condition), condition, nowMs)
    if (!change.applied) return refused(change)
    const { deleted } = change
    if (deleted) this.#records.write(tableId, [{ op: 'delete', ...fileKey(name), condition: undefined }], nowMs)
    this.#markDead(tableId, change.deadBlob, nowMs)
    return { applied: true, results: [{ deleted }] }
  }

  #put(tableId: number, name: string, { content, ttlSeconds, updatedAtMs }: FileToWrite, nowMs: number): Applied {
    const write = (version: number): Applied => {
      const put: PutOperation = {
        ...{ op: 'put', ...fileKey(name), data: fileData(content), ttlSeconds, condition: undefined },
        ...{ entries: fileEntries(name, content, version), updatedAtMs: version },
      }
      return this.#records.write(tableId, [put], nowMs) as Applied
    }
    const result = write(updatedAtMs)
    // Over a damaged row, whose version only the writer of records finds, it is written once more: an index entry holds it.
    const written = (result.results[0] as { updatedAtMs: number }).updatedAtMs
    return written === updatedAtMs ? result : write(written + 1)
  }

  #markDead(tableId: number, blobId: string | undefined, nowMs: number): void {
    if (blobId !== undefined) markDead(this.#db, [{ tableId, blobId }], nowMs)
  }

  takeDue(nowMs: number, rowsMax: number, keptMs: number): string[] {
    const held = this.#one<{ value: number }>(`SELECT value FROM meta WHERE name = 'files_held_until'`)
    if (held!.value > nowMs) return []
    const dueMs = nowMs - keptMs
    const ids = this.#db
      .prepare<{ id: string }, Value[]>('SELECT id FROM blobs WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2')
      .all(dueMs, rowsMax)
      .map(({ id }) => id)
    const due = dueMs + removalRetryMs
    for (const id of ids) this.#run(`UPDATE blobs SET state = 'removing', due_at = ?2 WHERE id = ?1`, id, due)
    return ids
  }

  forget(blobIds: string[]): void {
    for (const id of blobIds) {
      const isGone = this.#run(`DELETE FROM blobs WHERE id = ?1 AND state = 'removing'`, id) > 0
      if (isGone && isStoreBlobId(id)) this.#run('DELETE FROM blob_bytes WHERE id = ?1', id)
    }
  }

  holdSweep(untilMs: number): void {
    this.#run(`UPDATE meta SET value = max(value, ?1) WHERE name = 'files_held_until'`, untilMs)
  }

  adoptBlobs(): number {
    this.#run('DELETE FROM file_place')
    return this.#run(`UPDATE blobs SET due_at = ?1 WHERE id < 'f'`, neverDueMs)
  }

  writeMark(mark: string): string {
    this.#run('INSERT INTO file_place SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM file_place)', mark)
    return this.#one<{ mark: string }>('SELECT mark FROM file_place')!.mark
  }
}

const refused = ({ current }: { current: number | undefined }): Refused => ({
  ...{ applied: false, failedOperation: 0, current },
})

interface Writers {
  files: FileWrites
}

interface OfBucket {
  fence: Fence
  nowMs: number
}

export const fileCommands = {
  beginBlob: ({ files }: Writers, { fence, blobId, nowMs }: OfBucket & { blobId: string }) =>
    files.begin(fence.tableId!, blobId, nowMs),
  keepBlobs: ({ files }: Writers, { blobIds, nowMs }: { blobIds: string[]; nowMs: number }) =>
    files.keepAlive(blobIds, nowMs),
  /** `bytes`: those that the store keeps, as a character each. */
  commitFile: ({ files }: Writers, { fence, file, bytes, nowMs }: OfBucket & { file: CommittedFile; bytes?: string }) =>
    files.commit(fence.tableId!, file, bytes, nowMs),
  abandonBlob: ({ files }: Writers, { blobId, nowMs }: { blobId: string; nowMs: number }) =>
    files.abandon(blobId, nowMs),
  changeFile: (
    { files }: Writers,
    {
      fence,
      name,
      changes,
      condition,
      nowMs,
    }: OfBucket & { name: string; changes: FileChanges; condition: Condition | undefined },
  ) => files.change(fence.tableId!, name, changes, condition, nowMs),
  removeFile: (
    { files }: Writers,
    { fence, name, condition, nowMs }: OfBucket & { name: string; condition: Condition | undefined },
  ) => files.remove(fence.tableId!, name, condition, nowMs),
  takeDueBlobs: ({ files }: Writers, { nowMs, rowsMax, keptMs }: { nowMs: number; rowsMax: number; keptMs: number }) =>
    files.takeDue(nowMs, rowsMax, keptMs),
  forgetBlobs: ({ files }: Writers, { blobIds }: { blobIds: string[] }) => files.forget(blobIds),
  holdBlobs: ({ files }: Writers, { untilMs }: { untilMs: number }) => files.holdSweep(untilMs),
  adoptBlobs: ({ files }: Writers, _: object) => files.adoptBlobs(),
  writeFileMark: ({ files }: Writers, { mark }: { mark: string }) => files.writeMark(mark),
}
