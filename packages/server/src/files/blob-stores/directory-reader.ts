import { blobStoreError } from './blob-store-errors.ts'
import type { FileCalls } from './file-calls.ts'

/** A reader that is slow holds no more than the chunk that it was given. */
export const readChunkBytes = 256 * 1024

/** Reads until the buffer is full or the file ends. Returns the number of bytes. */
export const readFully = async (
  calls: FileCalls,
  descriptor: number,
  into: Uint8Array,
  position: number,
): Promise<number> => {
  let bytes = 0
  while (bytes < into.length) {
    const some = await calls.read(descriptor, into, bytes, position + bytes)
    if (some === 0) break
    bytes += some
  }
  return bytes
}

/** Bytes of an open file. It is closed after the last byte, after an error, and by `return`, also before the first `next`. */
export class DirectoryReader implements AsyncIterableIterator<Uint8Array> {
  readonly #calls: FileCalls
  readonly #end: number
  #descriptor: number | undefined
  #position: number
  #reading: Promise<unknown> = Promise.resolve()

  constructor(calls: FileCalls, descriptor: number, start: number, end: number) {
    this.#calls = calls
    this.#descriptor = descriptor
    this.#position = start
    this.#end = end
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** `used`: a chunk that the caller does not need any more. The next one may overwrite it. */
  next(used?: Uint8Array): Promise<IteratorResult<Uint8Array>> {
    // One after the other, whatever the caller does.
    const next = this.#reading.then(() => this.#next(used))
    this.#reading = next.catch(() => {})
    return next
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.#reading
    await this.#close()
    return { done: true, value: undefined }
  }

  async #next(used: Uint8Array | undefined): Promise<IteratorResult<Uint8Array>> {
    const descriptor = this.#descriptor
    if (descriptor === undefined) return { done: true, value: undefined }
    try {
      const length = Math.min(readChunkBytes, this.#end - this.#position)
      const value = used?.length === length ? used : new Uint8Array(length)
      const bytes = await readFully(this.#calls, descriptor, value, this.#position)
      if (bytes < value.length) throw new Error(`a blob ends at ${this.#position + bytes}, before ${this.#end}`)
      this.#position += bytes
      if (this.#position === this.#end) await this.#close()
      return { done: false, value }
    } catch (error) {
      await this.#close()
      throw blobStoreError(error)
    }
  }

  async #close(): Promise<void> {
    const descriptor = this.#descriptor
    this.#descriptor = undefined
    if (descriptor !== undefined) await this.#calls.close(descriptor).catch(() => {})
  }
}
