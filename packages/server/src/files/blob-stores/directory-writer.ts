import type { BlobWriter } from '../../store/blob-store.ts'
import { blobStoreError } from './blob-store-errors.ts'
import type { FileCalls } from './file-calls.ts'
import type { SharedSync } from './shared-sync.ts'

/** A writer has two buffers: one is filled while the other is written. */
const bufferBytesMax = 128 * 1024
const bufferBytesMin = 4 * 1024

/**
 * While a blob is written, its bytes are synced whenever there are this many new ones. Otherwise the last sync would hold one
 * of the few threads of the pool for as long as the disk takes for gigabytes.
 */
const syncEveryBytes = 16 * 1024 * 1024

interface WriterPaths {
  directory: string
  /** The name while it is written. */
  part: string
  file: string
}

export class DirectoryWriter implements BlobWriter {
  readonly #calls: FileCalls
  readonly #names: SharedSync
  readonly #paths: WriterPaths
  /** undefined once it is closed. */
  #descriptor: number | undefined
  #buffer: Uint8Array
  #filledBytes = 0
  #spare: Uint8Array | undefined
  #unsyncedBytes = 0
  // These two never reject: the error is in #failure.
  #writing: Promise<void> = Promise.resolve()
  #syncing: Promise<void> = Promise.resolve()
  #failure: unknown
  #finishing: Promise<void> | undefined
  #cleaning: Promise<void> | undefined

  constructor(calls: FileCalls, names: SharedSync, paths: WriterPaths, descriptor: number, bytes = bufferBytesMax) {
    this.#calls = calls
    this.#names = names
    this.#paths = paths
    this.#descriptor = descriptor
    this.#buffer = new Uint8Array(Math.min(Math.max(bytes, bufferBytesMin), bufferBytesMax))
  }

  /** The chunk is copied. Call it again only when the promise has resolved. */
  async write(chunk: Uint8Array): Promise<void> {
    try {
      let taken = 0
      while (taken < chunk.length) {
        if (this.#filledBytes === this.#buffer.length) await this.#flush()
        this.#check()
        const part = chunk.subarray(taken, taken + this.#buffer.length - this.#filledBytes)
        this.#buffer.set(part, this.#filledBytes)
        this.#filledBytes += part.length
        taken += part.length
      }
    } catch (error) {
      await this.#cleanUp()
      throw blobStoreError(error)
    }
  }

  finish(): Promise<void> {
    this.#finishing ??= this.#finish()
    return this.#finishing
  }

  /** After `finish` has succeeded it does nothing: a record may refer to the bytes, and the sweep removes them otherwise. */
  async abort(): Promise<void> {
    if (this.#finishing === undefined) return this.#cleanUp()
    await this.#finishing.catch(() => {})
  }

  async #finish(): Promise<void> {
    try {
      if (this.#filledBytes > 0) await this.#flush()
      await this.#writing
      await this.#syncing
      this.#check()
      await this.#calls.sync(this.#descriptor!)
      await this.#close()
      const { directory, part, file } = this.#paths
      await this.#names.change(directory, () => this.#calls.rename(part, file))
    } catch (error) {
      await this.#cleanUp()
      throw blobStoreError(error)
    }
  }

  /** Begins to write the buffer, once the other one is written. */
  async #flush(): Promise<void> {
    await this.#writing
    this.#check()
    const full = this.#buffer
    const bytes = this.#filledBytes
    this.#buffer = this.#spare ?? new Uint8Array(full.length)
    this.#spare = undefined
    this.#filledBytes = 0
    this.#writing = this.#writeAll(full, bytes).then(() => {
      this.#spare = full
    }, this.#fail)
  }

  async #writeAll(buffer: Uint8Array, bytes: number): Promise<void> {
    for (let written = 0; written < bytes; ) {
      const some = await this.#calls.write(this.#descriptor!, buffer, written, bytes - written)
      if (some === 0) throw new Error(`no byte could be written to ${this.#paths.part}`)
      written += some
    }
    this.#unsyncedBytes += bytes
    if (this.#unsyncedBytes < syncEveryBytes) return
    await this.#syncing
    this.#unsyncedBytes = 0
    this.#syncing = this.#calls.dataSync(this.#descriptor!).catch(this.#fail)
  }

  // The first error is kept. The kernel reports a failed sync once, so a later sync says nothing about the bytes.
  readonly #fail = (error: unknown): void => {
    this.#failure ??= error
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#cleaning !== undefined) throw new Error(`${this.#paths.part} was given up`)
  }

  async #close(): Promise<void> {
    const descriptor = this.#descriptor
    this.#descriptor = undefined
    if (descriptor !== undefined) await this.#calls.close(descriptor)
  }

  /** Removes what was written. What cannot be removed now is left to the sweep: the blob has a row. */
  #cleanUp(): Promise<void> {
    this.#cleaning ??= (async () => {
      // A number of a closed file can be that of another file: nothing may be using it.
      await this.#writing
      await this.#syncing
      await this.#close().catch(() => {})
      await this.#calls.unlink(this.#paths.part).catch(() => {})
      await this.#calls.unlink(this.#paths.file).catch(() => {})
    })()
    return this.#cleaning
  }
}
