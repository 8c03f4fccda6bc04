/** After each step there is a pause of this many times its duration, so that writers get most of the time. */
const restFactor = 3

/** Runs background work in steps until it is stopped. Each step is one small commit between the commits of writers. */
export class PacedSteps {
  isStopped = false
  #wake: (() => void) | undefined

  rest(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wake = resolve
      setTimeout(resolve, ms)
    })
  }

  /** Runs steps until one returns 0 or it is stopped. Returns the sum of their results. */
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
