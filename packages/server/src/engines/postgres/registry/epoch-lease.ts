import { remember } from '../../../core/remember.ts'

interface Stamped {
  /** The epoch of the store at the time of the read. */
  epoch: number
}

interface EpochLeaseOptions {
  leaseMs: number
  /** Reads the epoch of the store. */
  read(): Promise<number>
  /** The epoch has moved: every entry that was kept is stale. */
  onMove(): void
}

/**
 * An epoch of the store, and what was read at it. An entry that was read at an epoch is valid while the epoch is known to be
 * the same: for one lease, counted from before the query was sent. A change that increments the epoch waits for longer than a
 * lease before it is answered, so by then every process has read the epoch again.
 */
export class EpochLease {
  readonly #options: EpochLeaseOptions
  readonly #reading = new Map<string, Promise<Reading<Stamped>>>()
  #epoch = 0
  #lease = neverRead
  #renewal: Promise<void> | undefined

  constructor(options: EpochLeaseOptions) {
    this.#options = options
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Returns whether what was kept is still valid. */
  holds(): boolean {
    const { leaseMs } = this.#options
    const age = ageOf(this.#lease)
    if (age >= leaseMs) return false
    // The lease is renewed before it expires, so that no request of a busy process waits for it.
    if (age > leaseMs / 2) this.renew().catch(() => {})
    return true
  }

  renew(): Promise<void> {
    this.#renewal ??= this.#read().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #read(): Promise<void> {
    const sent = instant()
    this.#learn(await this.#options.read(), sent)
  }

  /** The epoch is read again before anything is used. */
  forget(): void {
    this.#lease = neverRead
  }

  /** This process itself has moved the epoch. */
  moveTo(epoch: number): void {
    this.#learn(epoch, neverRead)
  }

  #learn(epoch: number, sent: Instant): void {
    // A newer answer has been processed already.
    if (epoch < this.#epoch) return
    if (epoch > this.#epoch) {
      this.#epoch = epoch
      this.#lease = sent
      this.#options.onMove()
    } else if (sent.monotonicMs > this.#lease.monotonicMs) {
      this.#lease = sent
    }
  }

  /** The entry of that name, or the row that `read` returns, which is kept. Misses are not kept. */
  async find<T extends Stamped>(
    kept: Map<string, T>,
    name: string,
    entriesMax: number,
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { leaseMs } = this.#options
    if (kept.has(name)) {
      await this.renew()
      const still = kept.get(name)
      if (still !== undefined && ageOf(this.#lease) < leaseMs) return still
    }
    // If several callers miss at once, one reads. The others may use the row that it found, if that is not too old by then.
    // They may not use a miss: the row may have been created since.
    const joined = this.#reading.get(name)
    if (joined !== undefined) {
      const { value, sent } = await joined
      if (value !== undefined && ageOf(sent) < leaseMs) return value as T
    }
    const reading = this.#readEntry(kept, name, entriesMax, read)
    this.#reading.set(name, reading)
    try {
      return (await reading).value
    } finally {
      if (this.#reading.get(name) === reading) this.#reading.delete(name)
    }
  }

  async #readEntry<T extends Stamped>(
    kept: Map<string, T>,
    name: string,
    entriesMax: number,
    read: () => Promise<T | undefined>,
  ): Promise<Reading<T>> {
    const sent = instant()
    const value = await read()
    if (value !== undefined) {
      this.#learn(value.epoch, sent)
      if (value.epoch === this.#epoch) remember(kept, name, value, entriesMax)
    }
    return { value, sent }
  }
}

interface Reading<T> {
  value: T | undefined
  sent: Instant
}

/** The monotonic clock stops while a machine sleeps, and the wall clock may jump: the larger age counts. */
interface Instant {
  monotonicMs: number
  wallMs: number
}

const neverRead: Instant = { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
const instant = (): Instant => ({ monotonicMs: performance.now(), wallMs: Date.now() })
const ageOf = (sent: Instant): number => Math.max(performance.now() - sent.monotonicMs, Date.now() - sent.wallMs)
