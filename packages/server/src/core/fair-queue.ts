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

interface KeyLine<T> {
  keySeq: number
  readonly items: Fifo<T>
}

/** An organization with items in the queue. `turns` are its API keys with items, in the order of their turns. */
interface OrgLine<T> {
  orgId: number
  readonly turns: Fifo<KeyLine<T>>
  readonly byKey: Map<number, KeyLine<T>>
}

/**
 * A round-robin queue: organizations take turns, and within an organization its API keys. Items of one key are first in,
 * first out. So the backlog of one caller does not delay another. The queue itself is unbounded; `Shares` bounds it.
 */
export class FairQueue<T> {
  readonly #turns = new Fifo<OrgLine<T>>()
  readonly #byOrg = new Map<number, OrgLine<T>>()
  /** The queues that became empty last. Without contention the next item reuses them, and nothing is allocated. */
  #spareOrg: OrgLine<T> | undefined
  #spareKey: KeyLine<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  push(orgId: number, keySeq: number, item: T): void {
    let org = this.#byOrg.get(orgId)
    if (org === undefined) {
      org = this.#spareOrg ?? { orgId, turns: new Fifo(), byKey: new Map() }
      this.#spareOrg = undefined
      org.orgId = orgId
      this.#byOrg.set(orgId, org)
      this.#turns.push(org)
    }
    let key = org.byKey.get(keySeq)
    if (key === undefined) {
      key = this.#spareKey ?? { keySeq, items: new Fifo() }
      this.#spareKey = undefined
      key.keySeq = keySeq
      org.byKey.set(keySeq, key)
      org.turns.push(key)
    }
    key.items.push(item)
    this.#size++
  }

  /** What `shift` would return. */
  peek(): T | undefined {
    return this.#turns.first?.turns.first?.items.first
  }

  shift(): T | undefined {
    const org = this.#turns.shift()
    if (org === undefined) return undefined
    const key = org.turns.shift()!
    const item = key.items.shift()
    this.#size--
    this.#lineUp(org, key)
    this.#lineUpOrg(org)
    return item
  }

  /**
   * Removes items from the front of each key's queue while they are `late`, and stops at the first that is not. The order
   * of turns does not change.
   */
  removeLate(isLate: (item: T) => boolean): T[] {
    const removed: T[] = []
    for (let orgs = this.#turns.size; orgs > 0; orgs--) {
      const org = this.#turns.shift()!
      for (let keys = org.turns.size; keys > 0; keys--) {
        const key = org.turns.shift()!
        while (key.items.size > 0 && isLate(key.items.first!)) removed.push(key.items.shift()!)
        this.#lineUp(org, key)
      }
      this.#lineUpOrg(org)
    }
    this.#size -= removed.length
    return removed
  }

  /** Moves the key behind the other keys of its organization, or drops it if it has no items left. */
  #lineUp(org: OrgLine<T>, key: KeyLine<T>): void {
    if (key.items.size > 0) {
      org.turns.push(key)
      return
    }
    org.byKey.delete(key.keySeq)
    this.#spareKey = key
  }

  #lineUpOrg(org: OrgLine<T>): void {
    if (org.turns.size > 0) {
      this.#turns.push(org)
      return
    }
    this.#byOrg.delete(org.orgId)
    this.#spareOrg = org
  }
}
