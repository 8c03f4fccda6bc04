import { CubbyError } from '../../../core/errors.ts'
import { isStoreBlobId, neverDueMs } from '../../../core/files/blob-id.ts'
import { type FileContent, fileData, fileEntries, fileKey, readFileContent } from '../../../core/files/file-record.ts'
import { deadBlobMs, pendingBlobMs } from '../../../core/limits.ts'
import { takeChecksum } from '../../../core/records/checksum.ts'
import { isExpired } from '../../../core/records/expiry.ts'
import type { FileChangeResult, FileChanges, FileToCommit, FileWriteResult } from '../../../store/files.ts'
import type { Condition, PutOperation } from '../../../store/records.ts'
import type { Connection } from '../connection.ts'
import type { RecordWrites } from '../records/record-writes.ts'
import { damagedRecord } from '../records/row-check.ts'
import type { Fence } from '../registry/registry-writes.ts'
import { type BlobReference, markDead } from './dead-blobs.ts'

type Value = string | number

type CommittedFile = Omit<FileToCommit, 'bytes'>

/** The row of a file, expired or not. */
interface FileRow {
  updated_at: number
  ttl: number | null
  data: string
  blobId: string | null
}

/** A sweep that could not remove the bytes comes back to them after this time. */
const removalRetryMs = 10 * 60 * 1000

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

  #file(tableId: number, name: string): FileRow | undefined {
    const { hashKey, rangeKey } = fileKey(name)
    return this.#one<FileRow>(
      `SELECT updated_at, ttl, data, substr(CAST(i3_hash AS TEXT), 2) AS blobId FROM records
       WHERE table_id = ?1 AND hash_key = CAST(?2 AS BLOB) AND range_key = CAST(?3 AS BLOB)`,
      ...[tableId, hashKey, rangeKey],
    )
  }

  begin(tableId: number, blobId: string, nowMs: number): void {
    this.#run(`INSERT INTO blobs VALUES (?1, ?2, 'pending', ?3)`, blobId, tableId, nowMs + pendingBlobMs)
  }

  keepAlive(blobIds: string[], nowMs: number): void {
    for (const id of blobIds) {
      this.#run(
        `UPDATE blobs SET due_at = max(due_at, ?2) WHERE id = ?1 AND state = 'pending'`,
        id,
        nowMs + pendingBlobMs,
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
    const { name, content, ttlSeconds, condition } = file
    const found = this.#file(tableId, name)
    const result = this.#put(tableId, name, content, ttlSeconds, condition, found, nowMs)
    if (!result.applied) return result
    this.#run(`INSERT INTO blobs VALUES (?1, ?2, 'live', NULL)`, content.blob, tableId)
    this.#db
      .prepare<unknown, [string, Uint8Array]>('INSERT INTO blob_bytes (id, bytes) VALUES (?1, ?2)')
      .run(content.blob, Buffer.from(bytes, 'latin1'))
    markDead(this.#db, replaced(tableId, found), nowMs)
    return result
  }

  #commitPending(tableId: number, file: CommittedFile, nowMs: number): FileWriteResult {
    const { name, content, ttlSeconds, condition } = file
    const { blob } = content
    const pending = `SELECT 1 FROM blobs WHERE id = ?1 AND table_id = ?2 AND state = 'pending'`
    if (this.#one(pending, blob, tableId) === undefined) {
      throw new CubbyError('unavailable', 'The upload was given up because it made no progress; nothing was stored.', {
        hint: 'Send the file again.',
      })
    }
    const found = this.#file(tableId, name)
    const result = this.#put(tableId, name, content, ttlSeconds, condition, found, nowMs)
    if (result.applied) {
      this.#run(`UPDATE blobs SET state = 'live', due_at = NULL WHERE id = ?1`, blob)
      markDead(this.#db, replaced(tableId, found), nowMs)
    } else {
      this.#run(`UPDATE blobs SET state = 'dead', due_at = ?2 WHERE id = ?1`, blob, nowMs + deadBlobMs)
    }
    return result
  }

  change(
    tableId: number,
    name: string,
    changes: FileChanges,
    condition: Condition | undefined,
    nowMs: number,
  ): FileChangeResult {
    const found = this.#file(tableId, name)
    if (found === undefined) return { applied: false, failedOperation: 0, current: undefined }
    const { hashKey, rangeKey } = fileKey(name)
    const record = { hashKey, rangeKey, data: found.data, ttlSeconds: found.ttl, updatedAtMs: found.updated_at }
    // Before the ttl is used: a damaged one could hide the file. It also takes the checksum off `data`.
    if (takeChecksum(tableId, record) === 'damaged') throw damagedRecord(record)
    if (isExpired(found.ttl, nowMs)) return { applied: false, failedOperation: 0, current: undefined }
    const { ttlSeconds = found.ttl, ...others } = changes
    const content = { ...readFileContent(record.data), ...others }
    const result = this.#put(tableId, name, content, ttlSeconds, condition, found, nowMs)
    return result.applied ? { ...result, content, ttlSeconds } : result
  }

  remove(tableId: number, name: string, condition: Condition | undefined, nowMs: number): FileWriteResult {
    const found = this.#file(tableId, name)
    const result = this.#records.write(tableId, [{ op: 'delete', ...fileKey(name), condition }], nowMs)
    // An expired file is left to the sweep, with its blob.
    if (result.applied && (result.results[0] as { deleted: boolean }).deleted)
      markDead(this.#db, replaced(tableId, found), nowMs)
    return result
  }

  /** The version is chosen here, because one of the index entries holds it. */
  #put(
    tableId: number,
    name: string,
    content: FileContent,
    ttlSeconds: number | null,
    condition: Condition | undefined,
    found: FileRow | undefined,
    nowMs: number,
  ): FileWriteResult {
    const write = (updatedAtMs: number, condition: Condition | undefined): FileWriteResult => {
      const entries = fileEntries(name, content, updatedAtMs)
      const put: PutOperation = {
        ...{ op: 'put', ...fileKey(name), data: fileData(content), ttlSeconds },
        ...{ entries, condition, updatedAtMs },
      }
      return this.#records.write(tableId, [put], nowMs)
    }
    const isLive = found !== undefined && !isDamaged(tableId, name, found) && !isExpired(found.ttl, nowMs)
    const version = isLive ? Math.max(nowMs, found.updated_at + 1) : nowMs
    const result = write(version, condition)
    if (!result.applied) return result
    // Over a damaged row, the version of which is only known to the writer, it is written once more.
    const { updatedAtMs } = result.results[0] as { updatedAtMs: number }
    return updatedAtMs === version ? result : write(updatedAtMs + 1, undefined)
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

/** Nothing of a damaged row is used. */
const isDamaged = (tableId: number, name: string, { data, ttl, updated_at }: FileRow): boolean =>
  takeChecksum(tableId, { ...fileKey(name), data, ttlSeconds: ttl, updatedAtMs: updated_at }) === 'damaged'

const replaced = (tableId: number, found: FileRow | undefined): BlobReference[] =>
  found === undefined || found.blobId === null ? [] : [{ tableId, blobId: found.blobId }]

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
