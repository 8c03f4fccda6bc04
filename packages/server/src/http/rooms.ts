import { CubbyError } from '../core/errors.ts'
import { Fifo } from '../core/fair-queue.ts'
import { pageBytesMax, toolMessagesMax, toolResponseBytesMax, turnMsMax } from '../core/limits.ts'
import type { Holder, Shares } from '../core/shares.ts'
import type { BuiltResponse } from '../core/slices.ts'
import { Deadlines, type Timed } from './deadlines.ts'

/** A tool sends its answer twice: as text and as values. */
const bytesOf: Record<BuiltResponse, number> = {
  listing: pageBytesMax,
  batch: toolMessagesMax * 2 * toolResponseBytesMax,
}

/** A caller keeps this much for its other answers, which are refused without room. */
const keptBytes = pageBytesMax

const watchEveryMs = 250

const late = (): CubbyError =>
  new CubbyError(
    'unavailable',
    'Too many large answers to this API key are being built or are still unread; this request waited too long. Nothing was applied.',
    { hint: 'Repeat the request after the time in Retry-After; or ask for less with a smaller limit.' },
  )

/** The memory that counts for one answer while it is built. */
export class Room {
  #heldBytes = 0
  #builtBytes = 0
  #isHeld = true

  constructor(
    private readonly shares: Shares,
    private readonly holder: Holder,
    bytes: number,
    private readonly over: () => void,
  ) {
    this.#setHeld(bytes)
  }

  /** Adds to the room: this much more of the response is there. It counts even if it is more than was expected. */
  add(bytes: number): void {
    this.#builtBytes += bytes
    if (this.#builtBytes > this.#heldBytes) this.#setHeld(this.#builtBytes)
  }

  /** The answer takes its place, or there is none. */
  leave(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.over()
    this.#setHeld(0)
  }

  #setHeld(bytes: number): void {
    const { orgId, keySeq } = this.holder
    const more = bytes - this.#heldBytes
    this.#heldBytes = bytes
    if (more > 0) this.shares.take(orgId, keySeq, more)
    else this.shares.give(orgId, keySeq, -more)
  }
}

interface Waiter extends Timed {
  holder: Holder
  built: BuiltResponse
  listingsMax: number
  begin(room: Room): void
}

/** The responses that an API key builds now, and its requests that wait. */
class KeyLine {
  readonly building: Record<BuiltResponse, number> = { listing: 0, batch: 0 }
  readonly waiting = new Fifo<Waiter>()
}

/**
 * Makes requests wait for room for answers that are built in several turns. The room is that of unread answers, taken
 * before anything is read: a request that waits holds nothing, so none waits for another that waits. An API key builds few
 * listings of files at a time, because several take no less time than one after another.
 */
export class Rooms {
  readonly #shares: Shares
  readonly #lines = new Map<number, KeyLine>()
  readonly #waiters: Deadlines
  #isServeDue = false
  /** Requests that waited too long. */
  lateCount = 0

  constructor(shares: Shares, msMax = turnMsMax) {
    this.#shares = shares
    this.#waiters = new Deadlines(msMax, watchEveryMs)
  }

  stop(): void {
    this.#waiters.stop()
  }

  /** Undefined if the request has to wait. `listingsMax`: of its API key at a time. */
  tryEnter(holder: Holder, built: BuiltResponse, listingsMax: number): Room | undefined {
    const line = this.#lines.get(holder.keySeq)
    if (line !== undefined && line.waiting.size > 0) return undefined
    return this.#admits(line, holder, built, listingsMax) ? this.#enter(holder, built) : undefined
  }

  /** Rejects if it takes too long. */
  enter({ orgId, keySeq }: Holder, built: BuiltResponse, listingsMax: number): Promise<Room> {
    const holder = { orgId, keySeq }
    const line = this.#lineOf(keySeq)
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        // All before it have begun or expired, so it is the first of its line.
        line.waiting.shift()
        this.#drop(keySeq, line)
        this.wake()
        this.lateCount++
        reject(late())
      }
      const waiter = { holder, built, listingsMax, startedAtMs: performance.now(), begin: resolve, expire }
      line.waiting.push(waiter)
      this.#waiters.add(waiter)
      this.wake()
    })
  }

  /** Room was given back. Those who wait are served together, when what runs now has taken its share of it. */
  wake(): void {
    if (this.#isServeDue || this.#waiters.size === 0) return
    this.#isServeDue = true
    setImmediate(this.#serve)
  }

  readonly #serve = (): void => {
    this.#isServeDue = false
    for (const line of this.#lines.values()) {
      for (let first = line.waiting.first; first !== undefined; first = line.waiting.first) {
        const { holder, built, listingsMax } = first
        if (!this.#admits(line, holder, built, listingsMax)) break
        line.waiting.shift()
        this.#waiters.remove(first)
        first.begin(this.#enter(holder, built))
      }
    }
  }

  #admits(line: KeyLine | undefined, { orgId, keySeq }: Holder, built: BuiltResponse, listingsMax: number): boolean {
    if (built === 'listing' && line !== undefined && line.building.listing >= listingsMax) return false
    // The bytes of a key count twice: in its own share and in that of its organization.
    return this.#shares.hasRoom(orgId, keySeq, 2 * bytesOf[built] + keptBytes)
  }

  #enter({ orgId, keySeq }: Holder, built: BuiltResponse): Room {
    const line = this.#lineOf(keySeq)
    line.building[built]++
    return new Room(this.#shares, { orgId, keySeq }, bytesOf[built], () => {
      line.building[built]--
      this.#drop(keySeq, line)
    })
  }

  #lineOf(keySeq: number): KeyLine {
    let line = this.#lines.get(keySeq)
    if (line === undefined) {
      line = new KeyLine()
      this.#lines.set(keySeq, line)
    }
    return line
  }

  #drop(keySeq: number, line: KeyLine): void {
    const { listing, batch } = line.building
    if (listing + batch + line.waiting.size === 0) this.#lines.delete(keySeq)
  }
}
