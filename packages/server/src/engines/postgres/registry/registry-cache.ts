import { hashApiKey } from '../../../core/api-keys/api-key.ts'
import { apiKeyCacheEntriesMax, tableCacheEntriesMax } from '../../../core/limits.ts'
import type { ApiKey } from '../../../store/api-keys.ts'
import type { Table } from '../../../store/tables.ts'
import type { RegistryReader } from './registry-reader.ts'

/**
 * Keys and tables as this process has read them, never stale in effect. The store has an epoch that every
 * revocation and every deletion moves. What was read at an epoch holds for as long as the epoch is known to be
 * the same: for a lease, counted from before the question was sent. Whoever revokes or deletes waits for longer
 * than a lease before it answers, so by then every process has asked again.
 *
 * Nothing negative is kept, so what is made or restored is there at once.
 */
export class RegistryCache {
  readonly #reader: RegistryReader
  readonly #leaseMs: number
  readonly #keys = new Map<string, ApiKey>()
  readonly #tables = new Map<string, Table>()
  readonly #reading = new Map<string, Promise<Reading<ApiKey | Table>>>()
  #epoch = 0
  #lease = neverRead
  #renewal: Promise<void> | undefined

  constructor(reader: RegistryReader, leaseMs: number) {
    this.#reader = reader
    this.#leaseMs = leaseMs
  }

  findApiKey(text: string): ApiKey | undefined | Promise<ApiKey | undefined> {
    const kept = this.#keys.get(text)
    if (kept !== undefined && this.#holds()) return kept
    return this.#find(this.#keys, text, apiKeyCacheEntriesMax, () => this.#reader.findApiKey(hashApiKey(text)))
  }

  findTable(orgId: number, db: string, name: string): Table | undefined | Promise<Table | undefined> {
    const place = `${orgId}/${db}/${name}`
    const kept = this.#tables.get(place)
    if (kept !== undefined && this.#holds()) return kept
    return this.#find(this.#tables, place, tableCacheEntriesMax, () => this.#reader.findTable(orgId, db, name))
  }

  /** Whether what was handed out with this stamp still holds; asks the store if it must. */
  async isCurrent(stamp: number): Promise<boolean> {
    if (!this.#holds()) await this.#renew()
    return stamp === this.#epoch
  }

  /** This process took something away itself. */
  moveTo(epoch: number): void {
    this.#learn(epoch, neverRead)
  }

  #holds(): boolean {
    const age = ageOf(this.#lease)
    if (age >= this.#leaseMs) return false
    // Asked ahead of its end, so that no request of a busy process waits for it.
    if (age > this.#leaseMs / 2) this.#renew().catch(() => {})
    return true
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#readEpoch().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #readEpoch(): Promise<void> {
    const sent = instant()
    this.#learn(await this.#reader.epoch(), sent)
  }

  #learn(epoch: number, sent: Instant): void {
    // An answer that was overtaken says nothing of now.
    if (epoch < this.#epoch) return
    if (epoch > this.#epoch) {
      this.#epoch = epoch
      this.#lease = sent
      this.#keys.clear()
      this.#tables.clear()
    } else if (sent.monotonicMs > this.#lease.monotonicMs) {
      this.#lease = sent
    }
  }

  async #find<T extends ApiKey | Table>(
    kept: Map<string, T>,
    name: string,
    most: number,
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (kept.has(name)) {
      await this.#renew()
      const still = kept.get(name)
      if (still !== undefined && ageOf(this.#lease) < this.#leaseMs) return still
    }
    // Of several that miss at once, one asks. The others may take what it found, if that is not too old by then;
    // that there is nothing they may not, for it may have been made since.
    const joined = this.#reading.get(name)
    if (joined !== undefined) {
      const { value, sent } = await joined
      if (value !== undefined && ageOf(sent) < this.#leaseMs) return value as T
    }
    const reading = this.#read(kept, name, most, read)
    this.#reading.set(name, reading)
    try {
      return (await reading).value
    } finally {
      if (this.#reading.get(name) === reading) this.#reading.delete(name)
    }
  }

  async #read<T extends ApiKey | Table>(
    kept: Map<string, T>,
    name: string,
    most: number,
    read: () => Promise<T | undefined>,
  ): Promise<Reading<T>> {
    const sent = instant()
    const value = await read()
    if (value !== undefined) {
      this.#learn(value.stamp, sent)
      if (value.stamp === this.#epoch) keep(kept, name, value, most)
    }
    return { value, sent }
  }
}

interface Reading<T> {
  value: T | undefined
  sent: Instant
}

/** The monotonic clock stands still while a machine sleeps and the other one may jump: the larger age counts. */
interface Instant {
  monotonicMs: number
  wallMs: number
}

const neverRead: Instant = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
const instant = (): Instant => ({ monotonicMs: performance.now(), wallMs: Date.now() })
const ageOf = (sent: Instant): number => Math.max(performance.now() - sent.monotonicMs, Date.now() - sent.wallMs)

const keep = <T>(kept: Map<string, T>, name: string, value: T, most: number): void => {
  // The oldest goes: its next use costs one look-up.
  if (kept.size >= most && !kept.has(name)) kept.delete(kept.keys().next().value!)
  kept.set(name, value)
}
