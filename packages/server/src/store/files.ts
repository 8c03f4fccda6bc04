import type { Awaitable } from '../core/awaitable.ts'
import type { FileChanges } from '../core/files/file-changes.ts'
import type { FileContent } from '../core/files/file-record.ts'
import type { Caller } from './api-keys.ts'
import type { Condition, WriteResult } from './records.ts'
import type { Table } from './tables.ts'

/** The result of a commit or removal of a file. */
export type FileWriteResult = WriteResult

/** The result includes the file as it was written: another write may have replaced it by the time that somebody reads it. */
export type FileChangeResult =
  | (Extract<WriteResult, { applied: true }> & ChangedFile)
  | Extract<WriteResult, { applied: false }>

export interface ChangedFile {
  content: FileContent
  ttlSeconds: number | null
}

/** A file to commit: its bytes are durable under `content.blob`, or the store keeps them. */
export interface FileToCommit {
  name: string
  content: FileContent
  ttlSeconds: number | null
  condition: Condition | undefined
  /** The bytes themselves, if the store keeps them: `content.blob` is a `newStoreBlobId` then, and has no row yet. */
  bytes?: Uint8Array
}

export type { FileChanges }

/**
 * The files of buckets. A file is a record of its bucket (`core/files/file-record.ts`), read with `Records`. It refers to a
 * blob, which has a row of its own and is in one of these states:
 *
 *     pending    it is being written; due a day after its last progress
 *     live       exactly one record refers to it
 *     dead       no record refers to it any more; due an hour later, so that a download can finish
 *     removing   a sweep removes its bytes; no commit can make it live
 *
 * Everything that removes a file's record (also the sweep of expired ones, the purge of a bucket and a put over an expired one)
 * makes its blob dead in the same transaction.
 *
 * The bytes of a small file are in the store, in the same commit as its record: such a blob (`isStoreBlobId`) is never pending,
 * and no place knows it. Its bytes are removed with its row. Only `readBytes`, a dump and a check read them.
 *
 * Methods throw CubbyError as described in `Engine`, and `bucket_not_found` if the bucket was deleted.
 */
export interface Files {
  /** Commits the row of a new blob, pending. Its first byte may be written only after that. */
  begin(caller: Caller, bucket: Table, blobId: string, nowMs: number): Promise<void>
  /** Notes that the uploads of these blobs make progress. */
  keepAlive(blobIds: string[], nowMs: number): Promise<void>
  /**
   * Writes the record in one transaction: the new blob becomes live (with its bytes, if the file has them), and the blob of the
   * replaced file becomes dead. If the condition does not hold, nothing is applied and the new blob becomes dead. Throws
   * `unavailable` if the blob is not pending any more.
   */
  commit(caller: Caller, bucket: Table, file: FileToCommit, nowMs: number): Promise<FileWriteResult>
  /** The bytes of a blob that the store keeps; undefined if it does not have them. `keySeq`: see `Records.get`. */
  readBytes(bucket: Table, blobId: string, keySeq?: number): Awaitable<Uint8Array | undefined>
  /** Gives an upload up: the blob becomes dead, and is due at once, since nobody reads it. */
  abandon(blobId: string, nowMs: number): Promise<void>
  /** Changes the record of a file, not its bytes. Without a file nothing is applied, as with the condition 'exists'. */
  change(
    caller: Caller,
    bucket: Table,
    name: string,
    changes: FileChanges,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileChangeResult>
  /** Removes the record; its blob becomes dead. */
  remove(
    caller: Caller,
    bucket: Table,
    name: string,
    condition: Condition | undefined,
    nowMs: number,
  ): Promise<FileWriteResult>
  /**
   * The sweep calls it. Marks at most `rowsMax` blobs whose bytes can be removed now as `removing`. Returns their ids, and
   * those that an earlier sweep left behind. Returns none while a backup holds the sweep. `keptMs`: bytes are kept this much
   * longer than usual, for restores to a time.
   */
  takeDue(nowMs: number, rowsMax: number, keptMs?: number): Promise<string[]>
  /** Removes the rows of blobs whose bytes are gone. Only blobs in the state `removing` are removed. */
  forget(blobIds: string[]): Promise<void>
  /** Makes `takeDue` return nothing until then. A later call can only move that time on. A guest may call it too. */
  holdSweep(untilMs: number): Promise<void>
  /**
   * The id of this store, for the marks of places. It was made with the store and never changes; a store that `restore` or
   * `copy` makes has another one.
   */
  storeId(): Awaitable<string>
  /**
   * Takes over the place of another store, which may have written the bytes of every blob that this one has now, and may need
   * them. Those bytes are never removed: `takeDue` does not return them. Returns the number of such blobs. The store has no
   * mark after that.
   */
  adoptBlobs(): Promise<number>
  /** The number of blobs that `adoptBlobs` took over. Those that no file refers to any more are among them. */
  countAdopted(): Awaitable<number>
  /** The mark of the place that the store's files are in; undefined before the first upload. */
  readMark(): Awaitable<string | undefined>
  /** Stores the mark if there is none. Returns the mark that the store has then. */
  writeMark(mark: string): Promise<string>
}
