/** After each step there is a pause of this many times its duration, so that writers get most of the time. */
const restFactor = 3

/** A kind of work: a step of it, which returns 0 if nothing is left, and what is done when a step fails. */
export interface Job {
  step(): Promise<number>
  failed(error: unknown): void
}

export interface Background {
  stop(): Promise<void>
}

/** Work that runs until it is stopped, and checks for that between its steps. */
export const inBackground = (work: (steps: PacedSteps) => Promise<void>): Background => {
  const steps = new PacedSteps()
  const running = work(steps)
  return {
    async stop() {
      steps.stop()
      await running
    },
  }
}

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

  /**
   * Steps of several jobs in turns, until nothing is left or `endsAt` has come: a tenant decides how much there is, and could
   * keep one of them busy for ever. One that fails has no further step, and keeps no other from its work.
   */
  async drainInTurns(jobs: Job[], endsAt = Number.POSITIVE_INFINITY): Promise<{ isMore: boolean; worked: boolean }> {
    const left = new Set(jobs)
    let worked = true
    await this.drain(async () => {
      let done = 0
      if (performance.now() >= endsAt) return 0
      for (const job of [...left]) {
        if (this.isStopped) return 0
        try {
          const count = await job.step()
          if (count === 0) left.delete(job)
          done += count
        } catch (error) {
          left.delete(job)
          worked = false
          if (!this.isStopped) job.failed(error)
        }
      }
      return done
    })
    return { isMore: left.size > 0, worked }
  }

  stop(): void {
    this.isStopped = true
    this.#wake?.()
  }
}
