/** A sleep that ends early when the alarm rings. */
export class Alarm {
  #rang = false
  #isOff = false
  #onRing: (() => void) | undefined
  #onOff: (() => void) | undefined

  get isOff(): boolean {
    return this.#isOff
  }

  ring(): void {
    this.#rang = true
    this.#onRing?.()
  }

  /** Ends this sleep and all later ones at once. */
  turnOff(): void {
    this.#isOff = true
    this.#onOff?.()
  }

  /**
   * Resolves after `ms`; or when it rings, also if it rang since the last sleep, but then not before `leastMs`: so that
   * constant rings do not become constant work.
   */
  sleep(ms: number, leastMs = 0): Promise<void> {
    if (this.#isOff) return Promise.resolve()
    return new Promise((resolve) => {
      const startedAt = performance.now()
      const end = (): void => {
        clearTimeout(timer)
        this.#onRing = undefined
        this.#onOff = undefined
        this.#rang = false
        resolve()
      }
      const wait = (untilMs: number): Timer => setTimeout(end, Math.max(0, untilMs - (performance.now() - startedAt)))
      let timer = wait(this.#rang ? Math.min(ms, leastMs) : ms)
      this.#onRing = () => {
        this.#onRing = undefined
        clearTimeout(timer)
        timer = wait(Math.min(ms, leastMs))
      }
      this.#onOff = end
    })
  }
}
