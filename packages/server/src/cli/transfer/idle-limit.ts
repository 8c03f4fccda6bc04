/** A signal that ends an exchange which makes no progress. A large file may take any time in all. */
export class IdleLimit {
  readonly #abort = new AbortController()
  readonly #idleMsMax: number
  readonly #reason: string
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(idleMsMax: number, reason: string) {
    this.#idleMsMax = idleMsMax
    this.#reason = reason
    this.progress()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  progress(): void {
    this.stop()
    this.#timer = setTimeout(() => this.#abort.abort(new Error(this.#reason)), this.#idleMsMax)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
