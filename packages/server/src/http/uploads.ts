import { CubbyError } from '../core/errors.ts'
import { repeatLater } from '../core/hint.ts'
import { uploadsMax, uploadsOfOrganizationMax, uploadsOfUrlMax, uploadsOfUserMax } from '../core/limits.ts'
import type { Access } from '../operations/access.ts'
import type { StoredFile } from '../operations/files/file-access.ts'
import { acceptUpload, storeUpload } from '../operations/files/put-file.ts'
import type { PutFileInput, UploadBytes } from '../operations/files/upload.ts'
import { UploadStalled, uploadReplaced } from './body-faults.ts'
import { UploadProgress } from './upload-body.ts'

/** A request whose body is a file, or a signed upload. */
interface UploadRequest {
  readonly access: Access
  readonly nowMs: number
  now(): number
  /** The signature of the URL, for a signed upload. */
  readonly signature?: string
  /**
   * The bytes, as they arrive. A chunk is valid until the next one is requested. The loop over them throws if the caller may
   * not write any more.
   */
  readUpload(progress: UploadProgress): AsyncIterable<Uint8Array>
  /** The same for a small file with a declared length, whole. Its owner frees it. */
  readSmallUpload(bytes: number, progress: UploadProgress): Promise<Uint8Array>
  /**
   * Allows the connection to be idle for any time while the work runs: a blob store may need minutes to make a file durable.
   */
  withoutIdleTimeout<T>(work: () => Promise<T>): Promise<T>
}

/** The reason why an upload was refused at its head, or cut. */
export type UploadRefusal = 'url' | 'user' | 'organization' | 'full' | 'replaced' | 'slow'

const tooMany = (who: string): CubbyError =>
  new CubbyError('unavailable', `Too many uploads ${who} are in progress; nothing was stored.`, { hint: repeatLater })

/** The place of an upload in progress. */
interface Slot {
  readonly orgId: number
  /** The signature of the URL, if there is one. */
  readonly signature: string | undefined
  /** The share of the user, if the caller has a user token. */
  readonly userSeq: number | undefined
  readonly progress: UploadProgress
}

/** Limits the uploads in progress: of all organizations, of each, of each user, and on each signed URL. */
export class Uploads {
  readonly #byOrganization = new Map<number, Set<Slot>>()
  readonly #onRefused: (reason: UploadRefusal) => void
  #count = 0

  constructor(onRefused: (reason: UploadRefusal) => void = () => {}) {
    this.#onRefused = onRefused
  }

  /** The number of uploads. */
  get count(): number {
    return this.#count
  }

  /** Answers everything that the head of the request decides before it takes a place among the uploads. */
  async receive(request: UploadRequest, input: PutFileInput): Promise<StoredFile> {
    const { access, signature } = request
    const accepted = await acceptUpload(access, input, request.nowMs)
    const progress = new UploadProgress()
    const source: UploadBytes = {
      chunks: () => request.readUpload(progress),
      whole: (bytes) => request.readSmallUpload(bytes, progress),
    }
    const { orgId, user } = access.apiKey
    const slot = { orgId, signature, userSeq: user?.shareSeq, progress }
    this.#enter(slot)
    try {
      return await request.withoutIdleTimeout(() => storeUpload(access, accepted, input, source, () => request.now()))
    } catch (error) {
      if (error instanceof UploadStalled) this.#onRefused('slow')
      throw error
    } finally {
      this.#leave(slot)
    }
  }

  #enter(slot: Slot): void {
    const own = this.#byOrganization.get(slot.orgId) ?? new Set()
    const refusal = this.#refusalOf(slot, own)
    if (refusal !== undefined) {
      this.#onRefused(refusal[0])
      throw tooMany(refusal[1])
    }
    this.#byOrganization.set(slot.orgId, own.add(slot))
    this.#count++
  }

  #refusalOf({ signature, userSeq }: Slot, own: ReadonlySet<Slot>): [reason: UploadRefusal, who: string] | undefined {
    if (signature !== undefined) {
      const onUrl = [...own].filter((other) => other.signature === signature)
      if (onUrl.length >= uploadsOfUrlMax) return ['url', 'on this URL']
    }
    if (userSeq !== undefined) {
      const ofUser = [...own].filter((other) => other.userSeq === userSeq)
      if (ofUser.length >= uploadsOfUserMax) return ['user', 'of this user']
    }
    if (own.size >= uploadsOfOrganizationMax) return ['organization', 'of this organization']
    if (this.#count >= uploadsMax && !this.#replaceSlowest(own.size)) return ['full', 'on this server']
    return undefined
  }

  /** Frees the place of the slowest upload of the fullest organization, for one that holds less than half as many. */
  #replaceSlowest(own: number): boolean {
    const [fullest] = [...this.#byOrganization.values()].sort((a, b) => b.size - a.size)
    if (fullest === undefined || own * 2 >= fullest.size) return false
    const nowMs = performance.now()
    const [slowest] = [...fullest]
      // The others have arrived, and are about to be stored.
      .filter(({ progress }) => progress.isCuttable)
      .sort((a, b) => a.progress.rate(nowMs) - b.progress.rate(nowMs))
    if (slowest === undefined) return false
    this.#leave(slowest)
    this.#onRefused('replaced')
    slowest.progress.cut(uploadReplaced())
    return true
  }

  /** Frees the slot once: an upload that was replaced has left already. */
  #leave(slot: Slot): void {
    const own = this.#byOrganization.get(slot.orgId)
    if (own?.delete(slot) !== true) return
    if (own.size === 0) this.#byOrganization.delete(slot.orgId)
    this.#count--
  }
}
