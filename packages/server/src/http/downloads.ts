import { readerBytesPerSecondMin, readerCheckedAfterMs } from '../core/limits.ts'
import { type Peer, readSendQueues, type SendQueues } from './send-queues.ts'

/** The reason why a download was refused, or cut. */
export type DownloadRefusal = 'full' | 'slow' | 'idle' | 'damaged'

/** A file that is sent as a stream. */
export interface Download {
  readonly orgId: number
  readonly request: Request
  readonly startedAtMs: number
  /** Bytes that Bun was given, whether the reader has taken them or not. */
  sentBytes: number
  /** Ends the answer: its connection breaks, and its room is free. */
  cut(): void
}

/** The head of an answer is in the system's queue too, but not in `sentBytes`. */
const headBytesMax = 1_024

/** Reading the queues takes some milliseconds, so many requests without room share it. */
const checkedEveryMs = 1_000

/**
 * The downloads of this server. A reader that takes nearly nothing holds room for minutes, and anybody can have many of
 * them: so the slowest is cut when somebody else needs its room. What a reader has taken is never underestimated.
 */
export class Downloads {
  /** The other end of the request's connection; null if that is over. */
  peerOf: (request: Request) => Peer | null = () => null
  readonly #byOrganization = new Map<number, Set<Download>>()
  readonly #readQueues: () => Promise<SendQueues>
  /** Those below `readerBytesPerSecondMin` when they were judged last, the slowest first. */
  #slow: readonly Download[] = []
  #checkedAtMs = Number.NEGATIVE_INFINITY
  #judging: Promise<void> | undefined

  constructor(
    readonly onRefused: (reason: DownloadRefusal) => void = () => {},
    readQueues: () => Promise<SendQueues> = readSendQueues,
  ) {
    this.#readQueues = readQueues
  }

  add(download: Download): void {
    const own = this.#byOrganization.get(download.orgId) ?? new Set()
    this.#byOrganization.set(download.orgId, own.add(download))
  }

  /** It has ended. */
  remove(download: Download): void {
    const own = this.#byOrganization.get(download.orgId)
    if (own?.delete(download) === true && own.size === 0) this.#byOrganization.delete(download.orgId)
  }

  /** False if no reader of the organization is slow enough. */
  async cutSlowest(orgId: number): Promise<boolean> {
    const nowMs = performance.now()
    const own = this.#byOrganization.get(orgId) ?? []
    if (![...own].some(({ startedAtMs }) => nowMs - startedAtMs >= readerCheckedAfterMs)) return false
    if (nowMs - this.#checkedAtMs >= checkedEveryMs) {
      this.#judging ??= this.#checkPace().finally(() => {
        this.#judging = undefined
      })
    }
    await this.#judging
    const slowest = this.#slow.find((download) => this.#byOrganization.get(orgId)?.has(download))
    if (slowest === undefined) return false
    this.onRefused('slow')
    slowest.cut()
    return true
  }

  async #checkPace(): Promise<void> {
    const queues = await this.#readQueues()
    const nowMs = performance.now()
    this.#checkedAtMs = nowMs
    this.#slow = [...this.#byOrganization.values()]
      .flatMap((downloads) => [...downloads])
      .filter(({ startedAtMs }) => nowMs - startedAtMs >= readerCheckedAfterMs)
      .map((download) => {
        const peer = this.peerOf(download.request)
        const taken = download.sentBytes + headBytesMax - (peer === null ? 0 : queues(peer))
        return { download, rate: (taken / (nowMs - download.startedAtMs)) * 1_000 }
      })
      .filter(({ rate }) => rate < readerBytesPerSecondMin)
      .sort((a, b) => a.rate - b.rate)
      .map(({ download }) => download)
  }
}
