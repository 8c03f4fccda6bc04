import type { Awaitable } from '../core/awaitable.ts'
import { OperatorError } from '../core/operator-error.ts'

/**
 * The place of the bytes of files: a directory, or a bucket of S3. A blob is written once and never changed. The store has a
 * row for every blob before its first byte is written (`store/files.ts`), so nothing ever has to list a place.
 *
 * Methods throw CubbyError: `storage_full` if there is no room, `unavailable` if the place cannot be reached. An error in the
 * middle of a stream ends that stream.
 */
export interface BlobStore {
  /** Log lines and messages show it, without secrets: `/var/lib/cubby/files`, `s3://bucket/prefix`. */
  readonly description: string
  /**
   * Tells whether the bytes of a failed write may appear later: S3, for example, may have received them although it did not
   * answer.
   */
  mayWriteLate(): boolean
  /** Set if the store keeps the bytes of small files itself. */
  readonly inStore?: InStore
  /**
   * Starts a new blob. `bytes`: its length, if it is known. The id must be new (`newBlobId`) and its row committed.
   */
  write(id: string, bytes?: number): Promise<BlobWriter>
  /**
   * The bytes from `start` to before `end`. Throws BlobMissing before the first byte if there is no such blob. A chunk that is
   * passed to `next` of the iterator may be overwritten.
   */
  read(id: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>>
  /** The length in bytes; undefined if there is no such blob. */
  size(id: string): Promise<number | undefined>
  /** Removes a blob, finished or not, and everything that an interrupted write has left of it. It may be gone already. */
  remove(id: string): Promise<void>
  /**
   * The mark of the place, which may be damaged; undefined if it has none yet. Throws if the place cannot be read: absence must
   * be certain.
   */
  readMark(): Promise<string | undefined>
  /**
   * Writes the mark, durably, if the place has none; with 'replace' it overwrites the present one. Returns the mark that the
   * place has then.
   */
  writeMark(mark: string, how?: 'replace'): Promise<string>
  /**
   * A process calls it at its start. Throws BlobStoreRefused if the place has settings that are wrong, and another error if
   * that cannot be known now.
   */
  probe?(): Promise<void>
  close(): Promise<void>
}

/** The way in which small files are kept in the store. */
interface InStore {
  /** A file with more bytes goes to the place. */
  readonly bytesMax: number
  /** Makes sure, as every write does, that the place is the one of the store, and marks it at the first upload. */
  prepare(): Awaitable<void>
}

export interface BlobWriter {
  /** Resolves when there is room for more. The chunk is not used after that: its owner may free it. */
  write(chunk: Uint8Array): Promise<void>
  /**
   * Makes the blob durable under its id: synced, with its name. `sha256`: the digest of all bytes in hex; some places check it.
   */
  finish(sha256: string): Promise<void>
  /** Gives up and removes what was written. Never throws. */
  abort(): Promise<void>
}

/** The place has no blob with this id, although a record refers to it. */
export class BlobMissing extends Error {
  constructor(id: string, description: string) {
    super(`the bytes of blob ${id} are not in ${description}`)
  }
}

/** The bytes of a blob are not those that were uploaded: their digest is another one. */
export class BlobChanged extends Error {
  constructor(id: string, description: string) {
    super(`the bytes of blob ${id} in ${description} are not those that were uploaded`)
  }
}

/** The place is not the one that the store was used with, or cannot be one. The message is for the operator. */
export class BlobStoreRefused extends OperatorError {
  override readonly name = 'BlobStoreRefused'
}

/** The value of `--files` is malformed: a mistake in the call, not a problem of the place. */
export class BlobStoreUrlRefused extends BlobStoreRefused {}
