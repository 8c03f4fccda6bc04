const hashBits = 48
const rangeBits = 8
const hashesPerRange = 2 ** (hashBits - rangeBits)

/** The last 48 bits of the hash of an idempotency key, as a number. Different keys may share them. */
export const shortHashOf = (keyHash: string): number => Number.parseInt(keyHash.slice(-hashBits / 4), 16)

/** Row ids by short hash, in ranges of neighbouring hashes that are taken in turn. */
export class RecentKeys {
  readonly #ranges = Array.from({ length: 2 ** rangeBits }, () => new Map<number, number>())
  #next = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  get(shortHash: number): number | undefined {
    return this.#rangeOf(shortHash).get(shortHash)
  }

  /** Call it in the order of ids. */
  set(shortHash: number, id: number): void {
    const range = this.#rangeOf(shortHash)
    if (!range.delete(shortHash)) this.#size++
    range.set(shortHash, id)
  }

  /** Removes the entries of the next range. Returns their ids in the order of their hashes. */
  takeRange(): number[] {
    const range = this.#ranges[this.#next]!
    this.#next = (this.#next + 1) % this.#ranges.length
    this.#size -= range.size
    const entries = [...range].sort(([a], [b]) => a - b)
    range.clear()
    return entries.map(([, id]) => id)
  }

  /** True if all ranges have been taken equally often. */
  get isRoundComplete(): boolean {
    return this.#next === 0
  }

  /** Infinity if there is none. */
  smallestId(): number {
    // A map has its entries in the order in which they were set.
    return Math.min(...this.#ranges.map((range) => range.values().next().value ?? Number.POSITIVE_INFINITY))
  }

  #rangeOf(shortHash: number): Map<number, number> {
    return this.#ranges[Math.floor(shortHash / hashesPerRange)]!
  }
}
