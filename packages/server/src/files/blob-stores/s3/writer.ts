import type { BlobWriter } from '../../../store/blob-store.ts'
import { S3Failure, toCallersError } from './failure.ts'
import type { Payload } from './requests.ts'
import type { Spool } from './spool.ts'

/**
 * An upload. S3 wants the length and the digest before the first byte, so the bytes are on the local disk until both are
 * known. Then one PUT makes the object visible as a whole.
 */
export class S3Writer implements BlobWriter {
  readonly #spool: Spool
  readonly #put: (payload: Payload, signal: AbortSignal) => Promise<unknown>
  readonly #given = new AbortController()

  constructor(spool: Spool, put: (payload: Payload, signal: AbortSignal) => Promise<unknown>) {
    this.#spool = spool
    this.#put = put
  }

  write(chunk: Uint8Array): Promise<void> {
    return this.#spool.write(chunk)
  }

  async finish(sha256: string): Promise<void> {
    const { bytes } = this.#spool
    const open: Payload['open'] = (onTaken) => (bytes === 0 ? '' : this.#spool.stream(onTaken))
    try {
      await this.#put({ bytes, sha256, open }, this.#given.signal)
    } catch (error) {
      throw error instanceof S3Failure ? toCallersError(error) : error
    } finally {
      await this.#spool.close()
    }
  }

  /**
   * A PUT whose body is cut stores nothing. If the whole body had arrived, the sweep removes the blob, as every blob
   * without a file.
   */
  async abort(): Promise<void> {
    this.#given.abort(new S3Failure('the upload was given up'))
    await this.#spool.close().catch(() => {})
  }
}
