const compactAt = 64

/** First in, first out, in constant time: an array with a moving head. */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head === this.#items.length) {
      // A short array keeps its memory for the next items; a long one frees it.
      if (this.#head < compactAt) this.#items.length = 0
      else this.#items = []
      this.#head = 0
    } else if (this.#head >= compactAt && this.#head * 2 > this.#items.length) {
      this.#items.splice(0, this.#head)
      this.#head = 0
    }
    return item
  }
}

/**
 * Turns by count: organizations take turns, and within an organization its members (API keys, or tasks). The one that had its
 * turn goes behind the others, so a backlog of one delays nobody. A member has one entry.
 */
export class Turns<T> {
  /** The order of the entries is the order of turns. */
  readonly #orgs = new Map<number, Map<number, T>>()
  /** The map that became empty last. Without contention the next entry reuses it, and nothing is allocated. */
  #spare: Map<number, T> | undefined

  get orgCount(): number {
    return this.#orgs.size
  }

  memberCount(orgId: number): number {
    return this.#orgs.get(orgId)?.size ?? 0
  }

  get(orgId: number, memberId: number): T | undefined {
    return this.#orgs.get(orgId)?.get(memberId)
  }

  /** Keeps its place if it is there already. */
  set(orgId: number, memberId: number, entry: T): void {
    let members = this.#orgs.get(orgId)
    if (members === undefined) {
      members = this.#spare ?? new Map()
      this.#spare = undefined
      this.#orgs.set(orgId, members)
    }
    members.set(memberId, entry)
  }

  remove(orgId: number, memberId: number): void {
    const members = this.#orgs.get(orgId)
    if (members?.delete(memberId) !== true || members.size > 0) return
    this.#orgs.delete(orgId)
    this.#spare = members
  }

  /** The next entry, which stays where it is. */
  get first(): T | undefined {
    for (const members of this.#orgs.values()) for (const entry of members.values()) return entry
    return undefined
  }

  /** The next entry that has room; its organization and it go behind the others. Undefined if none has room. */
  next(orgHasRoom = (_orgId: number): boolean => true, hasRoom = (_entry: T): boolean => true): T | undefined {
    for (const [orgId, members] of this.#orgs) {
      if (!orgHasRoom(orgId)) continue
      for (const [memberId, entry] of members) {
        if (!hasRoom(entry)) continue
        if (members.size > 1) {
          members.delete(memberId)
          members.set(memberId, entry)
        }
        if (this.#orgs.size > 1) {
          this.#orgs.delete(orgId)
          this.#orgs.set(orgId, members)
        }
        return entry
      }
    }
    return undefined
  }

  /** Yields the elements in the order of turns of each organization. */
  *[Symbol.iterator](): Generator<T> {
    for (const members of this.#orgs.values()) yield* members.values()
  }
}

interface KeyLine<T> {
  orgId: number
  keySeq: number
  readonly items: Fifo<T>
}

/**
 * A queue with turns of organizations and their API keys. Items of one key are first in, first out. So the backlog of one
 * caller does not delay another. The queue itself is unbounded; `Shares` bounds it.
 */
export class FairQueue<T> {
  readonly #lines = new Turns<KeyLine<T>>()
  /** The line that became empty last: see Turns. */
  #spare: KeyLine<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  push(orgId: number, keySeq: number, item: T): void {
    let line = this.#lines.get(orgId, keySeq)
    if (line === undefined) {
      line = this.#spare ?? { orgId, keySeq, items: new Fifo() }
      this.#spare = undefined
      line.orgId = orgId
      line.keySeq = keySeq
      this.#lines.set(orgId, keySeq, line)
    }
    line.items.push(item)
    this.#size++
  }

  /** Returns the element that `shift` would return. */
  peek(): T | undefined {
    return this.#lines.first?.items.first
  }

  shift(): T | undefined {
    const line = this.#lines.next()
    if (line === undefined) return undefined
    const item = line.items.shift()
    this.#size--
    this.#dropIfEmpty(line)
    return item
  }

  /**
   * Removes items from the front of each key's queue while they are `late`, and stops at the first that is not. The order
   * of turns does not change.
   */
  removeLate(isLate: (item: T) => boolean): T[] {
    const removed: T[] = []
    for (const line of [...this.#lines]) {
      while (line.items.size > 0 && isLate(line.items.first!)) removed.push(line.items.shift()!)
      this.#dropIfEmpty(line)
    }
    this.#size -= removed.length
    return removed
  }

  #dropIfEmpty(line: KeyLine<T>): void {
    if (line.items.size > 0) return
    this.#lines.remove(line.orgId, line.keySeq)
    this.#spare = line
  }
}
