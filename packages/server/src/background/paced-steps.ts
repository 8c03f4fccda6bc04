/** A step is followed by a rest of so many times its own length, so that writers keep most of the store. */
const restFactor = 3

/** Runs steps of background work, each a small commit between those of the writers, until it is stopped. */
export class PacedSteps {
  isStopped = false
  #wake: (() => void) | undefined

  rest(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wake = resolve
      setTimeout(resolve, ms)
    })
  }

  /** Until a step returns 0; the sum of what they returned. */
  async drain(step: () => Promise<number>): Promise<number> {
    let sum = 0
    while (!this.isStopped) {
      const started = performance.now()
      const done = await step()
      if (done === 0) break
      sum += done
      await this.rest(Math.ceil((performance.now() - started) * restFactor))
    }
    return sum
  }

  stop(): void {
    this.isStopped = true
    this.#wake?.()
  }
}
