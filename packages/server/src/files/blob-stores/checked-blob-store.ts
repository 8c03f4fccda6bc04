import type { Awaitable } from '../../core/awaitable.ts'
import { CubbyError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { type BlobStore, BlobStoreRefused, type BlobWriter } from '../../store/blob-store.ts'
import { adoptBlobStore, checkMark, makeMark, type StoredMark } from './check-mark.ts'

/** The time that a start waits for a blob store that does not answer: a disk on the network can take forever. */
const startCheckMsMax = 5_000

const uploadLogEveryMs = 10_000

const within = async (msMax: number, work: Promise<void>): Promise<void> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not answer within ${msMax / 1000} s`)), msMax)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A place that is used only once it is known to be the one of the store. The check is made before the first use and, if it
 * fails, again before the next one: `unavailable` until then.
 */
export class CheckedBlobStore implements BlobStore {
  readonly description: string
  readonly #blobStore: BlobStore
  readonly #stored: StoredMark
  readonly #log: Log
  #isChecked = false
  /** Checks in progress. Requests at the same time share them. */
  #reading: Promise<boolean> | undefined
  #writing: Promise<boolean> | undefined
  /** The error that was logged last, so that a blob store that stays wrong does not fill the log. */
  #logged: string | undefined
  #uploadLoggedAtMs = Number.NEGATIVE_INFINITY

  constructor(blobStore: BlobStore, stored: StoredMark, log: Log) {
    this.description = blobStore.description
    this.#blobStore = blobStore
    this.#stored = stored
    this.#log = log
  }

  /**
   * Checks the mark when a process starts. Throws BlobStoreRefused if this is another blob store, or its settings are wrong. A
   * blob store that cannot be reached, or not within `msMax`, is only logged: tables can be served without it, and it is
   * checked at the first use. `adopts`: the blob store of another store is taken over first. That must succeed, however long it
   * takes.
   */
  async checkAtStart(adopts = false, msMax = startCheckMsMax): Promise<void> {
    const blobs = adopts ? await adoptBlobStore(this.#blobStore, this.#stored) : undefined
    if (blobs !== undefined)
      this.#log('warn', 'took over the files of another store', { files: this.description, blobs })
    const check = async (): Promise<void> => {
      await this.#blobStore.probe?.()
      this.#isChecked ||= await checkMark(this.#blobStore, this.#stored)
    }
    try {
      await within(msMax, check())
    } catch (error) {
      if (error instanceof BlobStoreRefused) throw error
      this.#logOnce(error)
    }
  }

  mayWriteLate(): boolean {
    return this.#blobStore.mayWriteLate()
  }

  /** Resolves when bytes may be written: here, or to the store beside it. */
  prepare(): Awaitable<void> {
    return this.#isChecked ? undefined : this.#readyToWrite().then(() => {})
  }

  async write(id: string, bytes?: number): Promise<BlobWriter> {
    await this.prepare()
    const writer = await this.#blobStore.write(id, bytes).catch((error: unknown) => {
      this.#noteFailure(error)
      if (error instanceof CubbyError && error.code === 'storage_full') this.#logUpload(error)
      throw error
    })
    const noteUpload = (error: unknown): never => {
      this.#logUpload(error)
      throw error
    }
    const noteUsed = (): void => {
      this.#logged = undefined
    }
    return {
      write: (chunk) => writer.write(chunk).catch(noteUpload),
      finish: (sha256) => writer.finish(sha256).then(noteUsed, noteUpload),
      abort: () => writer.abort(),
    }
  }

  async read(id: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>> {
    if (!this.#isChecked) await this.#readyToRead()
    return this.#watched(this.#blobStore.read(id, start, end))
  }

  async size(id: string): Promise<number | undefined> {
    if (!this.#isChecked) await this.#readyToRead()
    return this.#watched(this.#blobStore.size(id))
  }

  async remove(id: string): Promise<void> {
    // Checked every time: another store may have taken the place over, and may need these bytes.
    if (await this.#readyToRead()) await this.#blobStore.remove(id)
  }

  readMark(): Promise<string | undefined> {
    return this.#blobStore.readMark()
  }

  writeMark(mark: string, how?: 'replace'): Promise<string> {
    return this.#blobStore.writeMark(mark, how)
  }

  close(): Promise<void> {
    return this.#blobStore.close()
  }

  /** False: the store has no mark yet, so no byte of it was ever written. */
  #readyToRead(): Promise<boolean> {
    this.#reading ??= this.#check(false).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  #readyToWrite(): Promise<boolean> {
    this.#writing ??= this.#check(true).finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #check(forWriting: boolean): Promise<boolean> {
    try {
      let isChecked = await checkMark(this.#blobStore, this.#stored)
      if (!isChecked && forWriting) {
        await makeMark(this.#blobStore, this.#stored)
        isChecked = true
      }
      this.#isChecked = isChecked
      this.#logged = undefined
      return isChecked
    } catch (error) {
      if (error instanceof BlobStoreRefused) this.#isChecked = false
      this.#logOnce(error)
      if (error instanceof CubbyError) throw error
      throw new CubbyError('unavailable', 'This server cannot use the place of the files now; nothing was applied.', {
        hint: "The operator finds the reason in the server's log.",
        cause: String(error),
      })
    }
  }

  /** A place can fail after the check too: its disk is unmounted, S3 does not answer. */
  async #watched<T>(used: Promise<T>): Promise<T> {
    try {
      const result = await used
      this.#logged = undefined
      return result
    } catch (error) {
      this.#noteFailure(error)
      throw error
    }
  }

  #noteFailure(error: unknown): void {
    if (error instanceof CubbyError && error.code === 'unavailable') this.#logOnce(error)
  }

  /** Clients do not see the cause. Once in a while, since on a disk that is full or fails every upload fails. */
  #logUpload(error: unknown): void {
    const atMs = performance.now()
    if (atMs - this.#uploadLoggedAtMs < uploadLogEveryMs) return
    this.#uploadLoggedAtMs = atMs
    const { code, cause } = error instanceof CubbyError ? error : { code: 'internal', cause: String(error) }
    this.#log('error', 'the bytes of an upload could not be stored', { code, cause })
  }

  #logOnce(error: unknown): void {
    const cause = error instanceof CubbyError ? String(error.cause ?? error.message) : (error as Error).message
    if (cause === this.#logged) return
    this.#logged = cause
    this.#log('error', 'the place of the files cannot be used; requests for files are answered with 503', { cause })
  }
}
