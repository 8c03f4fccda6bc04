import type { BlobWriter } from '../../store/blob-place.ts'

/** A small blob: its bytes are held until it is finished, and then written in a batch with others. */
export class BatchedWriter implements BlobWriter {
  readonly #bytes: Uint8Array
  readonly #put: (bytes: Uint8Array) => Promise<void>
  #filledBytes = 0
  #finishing: Promise<void> | undefined

  /** `put` makes the bytes durable, or leaves nothing behind and throws. */
  constructor(bytes: number, put: (bytes: Uint8Array) => Promise<void>) {
    this.#bytes = new Uint8Array(bytes)
    this.#put = put
  }

  /** Throws if there are more than were declared. */
  async write(chunk: Uint8Array): Promise<void> {
    this.#bytes.set(chunk, this.#filledBytes)
    this.#filledBytes += chunk.length
  }

  finish(): Promise<void> {
    this.#finishing ??= this.#put(this.#bytes.subarray(0, this.#filledBytes))
    return this.#finishing
  }

  /** Nothing is written before `finish`, and a `finish` that fails has left nothing behind. */
  async abort(): Promise<void> {
    await this.#finishing?.catch(() => {})
  }
}
