/** A small seeded generator (mulberry32): the same seed gives the same choices on every machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 0 up to, and not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** An integer from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)]!
  }

  /** Picks by weight. */
  weighted<T>(choices: readonly (readonly [number, T])[]): T {
    let at = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      at -= weight
      if (at < 0) return choice
    }
    return choices.at(-1)![1]
  }

  shuffled<T>(values: readonly T[]): T[] {
    const out = [...values]
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.int(0, i)
      ;[out[i], out[j]] = [out[j]!, out[i]!]
    }
    return out
  }
}

/** CUBBY_TEST_SEED, or a seed of this run's own. */
export const testSeed = (): number => {
  const given = process.env.CUBBY_TEST_SEED
  if (given === undefined || given === '') return Math.floor(Math.random() * 4_294_967_296)
  const seed = Number(given)
  if (!Number.isSafeInteger(seed)) throw new Error(`CUBBY_TEST_SEED is "${given}"; it takes an integer.`)
  return seed
}
