import { CubbyError } from '../core/errors.ts'
import { repeatLater } from '../core/hint.ts'
import { uploadsMax, uploadsOfOrganizationMax } from '../core/limits.ts'
import type { Access } from '../operations/access.ts'
import type { StoredFile } from '../operations/files/file-access.ts'
import { acceptUpload, storeUpload } from '../operations/files/put-file.ts'
import type { PutFileInput, UploadBytes } from '../operations/files/upload.ts'

/** A request whose body is a file, or a signed upload. */
export interface UploadRequest {
  readonly access: Access
  readonly nowMs: number
  now(): number
  /**
   * The bytes, as they arrive. A chunk is valid until the next one is requested. The loop over them throws if the caller may
   * not write any more.
   */
  readUpload(): AsyncIterable<Uint8Array>
  /** The same for a small file with a declared length, whole. Its owner frees it. */
  readSmallUpload(bytes: number): Promise<Uint8Array>
  /** While the work runs, the connection may be idle for any time: a place may need minutes to make a file durable. */
  withoutIdleTimeout<T>(work: () => Promise<T>): Promise<T>
}

const tooMany = (who: string): CubbyError =>
  new CubbyError('unavailable', `Too many uploads ${who} are in progress; nothing was stored.`, { hint: repeatLater })

/** Limits the uploads in progress, of all organizations and of each. */
export class Uploads {
  readonly #byOrganization = new Map<number, number>()
  #count = 0

  /** How many there are. */
  get count(): number {
    return this.#count
  }

  /** Answers everything that the head of the request decides before it takes a place among the uploads. */
  async receive(request: UploadRequest, input: PutFileInput): Promise<StoredFile> {
    const { access } = request
    const accepted = await acceptUpload(access, input, request.nowMs)
    const { orgId } = access.apiKey
    const source: UploadBytes = {
      chunks: () => request.readUpload(),
      whole: (bytes) => request.readSmallUpload(bytes),
    }
    this.#enter(orgId)
    try {
      return await request.withoutIdleTimeout(() => storeUpload(access, accepted, input, source, () => request.now()))
    } finally {
      this.#leave(orgId)
    }
  }

  #enter(orgId: number): void {
    const own = this.#byOrganization.get(orgId) ?? 0
    if (own >= uploadsOfOrganizationMax) throw tooMany('of this organization')
    if (this.#count >= uploadsMax) throw tooMany('on this server')
    this.#byOrganization.set(orgId, own + 1)
    this.#count++
  }

  #leave(orgId: number): void {
    const left = this.#byOrganization.get(orgId)! - 1
    if (left === 0) this.#byOrganization.delete(orgId)
    else this.#byOrganization.set(orgId, left)
    this.#count--
  }
}
