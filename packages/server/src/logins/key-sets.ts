import { CubbyError } from '../core/errors.ts'
import type { IssuerKey } from '../core/issuers/issuer-key.ts'
import { fetchedKeysBytesMax } from '../core/limits.ts'
import { type FetchedKeys, type FetchOptions, fetchKeys, NoKeys } from './fetch-keys.ts'
import { FetchPlaces, NoPlace } from './fetch-places.ts'

/** Keys are used for so long without asking again, and for so long while they cannot be fetched. */
const freshMs = 10 * 60 * 1000
const lastMs = 60 * 60 * 1000
/** The time between two fetches for keys that are not in the set. */
const seekEveryMs = 60 * 1000
/** The time until the next attempt after one that failed: without any keys all users wait for it. */
const retryMs = 60 * 1000
const retryWithoutKeysMs = 1_000

/** What an entry takes beside its keys. */
const entryBytes = 4_096

interface Entry {
  readonly name: string
  readonly orgId: number
  fetched: FetchedKeys | undefined
  fetchedAtMs: number
  /** The last fetch for a key that was not there. */
  soughtAtMs: number
  /** The last attempt that failed, and why. */
  failedAtMs: number
  reason: string
  pending: Promise<void> | undefined
}

const never = Number.NEGATIVE_INFINITY

/** A request that has begun before a fetch, and waits for it, has an earlier time: so much at most. */
const earlierMsMax = 15_000

/** False also after the clock was set back. */
const isWithin = (nowMs: number, atMs: number, ms: number): boolean => nowMs > atMs - earlierMsMax && nowMs - atMs < ms

const bytesOf = ({ fetched }: Entry): number => entryBytes + 2 * (fetched?.bytes ?? 0)

/** The keys of issuers with a `keysUrl`, as this process has fetched them last. */
export class KeySets {
  /** By organization and URL, the one used last at the end. */
  readonly #entries = new Map<string, Entry>()
  readonly #places: FetchPlaces
  readonly #options: FetchOptions
  readonly #bytesMax: number
  #bytes = 0

  /** Tests set other bounds. */
  constructor(options: FetchOptions, places = new FetchPlaces(), bytesMax = fetchedKeysBytesMax) {
    this.#options = options
    this.#places = places
    this.#bytesMax = bytesMax
  }

  /**
   * The key that `find` finds in the set. Any number of callers share one fetch. Throws `unavailable` if there are no keys, or only
   * those of more than an hour ago.
   */
  async find(
    orgId: number,
    url: string,
    find: (keys: readonly IssuerKey[]) => IssuerKey | undefined,
    nowMs: number,
  ): Promise<IssuerKey | undefined> {
    const entry = this.#use(orgId, url)
    const isFresh = entry.fetched !== undefined && isWithin(nowMs, entry.fetchedAtMs, freshMs)
    if (!isFresh && !this.#hasFailed(entry, nowMs)) await this.#fetch(entry, orgId, url, nowMs)
    const keys = this.#keysOf(entry, nowMs)
    const found = find(keys)
    if (found !== undefined || !isFresh) return found
    if (entry.pending === undefined) {
      if (isWithin(nowMs, entry.soughtAtMs, seekEveryMs)) return undefined
      entry.soughtAtMs = nowMs
    }
    await this.#fetch(entry, orgId, url, nowMs)
    return find(this.#keysOf(entry, nowMs))
  }

  #hasFailed({ fetched, failedAtMs }: Entry, nowMs: number): boolean {
    return isWithin(nowMs, failedAtMs, fetched === undefined ? retryWithoutKeysMs : retryMs)
  }

  #keysOf({ fetched, fetchedAtMs, reason }: Entry, nowMs: number): readonly IssuerKey[] {
    if (fetched !== undefined && isWithin(nowMs, fetchedAtMs, lastMs)) return fetched.keys
    throw new CubbyError('unavailable', `The keys of the issuer cannot be fetched from its keysUrl. ${reason}`, {
      hint: 'Repeat the request after the time in Retry-After. If it does not help, check the keysUrl.',
    })
  }

  #fetch(entry: Entry, orgId: number, url: string, nowMs: number): Promise<void> {
    entry.pending ??= this.#places
      .run(orgId, () => fetchKeys(url, this.#options))
      .then(
        (fetched) => this.#keep(entry, fetched, nowMs),
        (error) => {
          entry.reason = reasonOf(error)
          entry.failedAtMs = nowMs
        },
      )
      .finally(() => {
        entry.pending = undefined
      })
    return entry.pending
  }

  #keep(entry: Entry, fetched: FetchedKeys, nowMs: number): void {
    const isKept = this.#entries.get(entry.name) === entry
    if (isKept) this.#bytes -= bytesOf(entry)
    entry.fetched = fetched
    entry.fetchedAtMs = nowMs
    entry.failedAtMs = never
    if (!isKept) return
    this.#bytes += bytesOf(entry)
    this.#evict()
  }

  #use(orgId: number, url: string): Entry {
    const name = `${orgId} ${url}`
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      entry = {
        ...{ name, orgId, fetched: undefined, pending: undefined, reason: '' },
        ...{ fetchedAtMs: never, soughtAtMs: never, failedAtMs: never },
      }
      this.#bytes += bytesOf(entry)
    }
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    this.#evict()
    return entry
  }

  /**
   * Forgets sets, each time the one that the organization with the most bytes used longest ago: whoever names many addresses does not
   * make others lose theirs. Whoever waits for a set still gets it.
   */
  #evict(): void {
    while (this.#bytes > this.#bytesMax) {
      const entries = [...this.#entries.values()]
      const bytesOfOrgs = new Map<number, number>()
      for (const entry of entries) {
        bytesOfOrgs.set(entry.orgId, (bytesOfOrgs.get(entry.orgId) ?? 0) + bytesOf(entry))
      }
      const [fullest] = [...bytesOfOrgs].reduce((most, org) => (org[1] > most[1] ? org : most))
      const forgotten = entries.find(({ orgId }) => orgId === fullest)!
      this.#entries.delete(forgotten.name)
      this.#bytes -= bytesOf(forgotten)
    }
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof NoKeys) return error.message
  if (error instanceof NoPlace) return 'Too many others are being fetched.'
  throw error
}
