const pollEveryMs = 50

/**
 * Tells when an answer that is not a stream has been sent, or its connection has ended. Bun reports neither, so this asks
 * `isOpen` for all of them, twenty times a second while there are any.
 */
export class ResponseEnds {
  /** Tells whether the request still has an answer to send. Bun forgets the caller's address at its end. */
  isOpen: (request: Request) => boolean = () => false
  readonly #ends = new Map<Request, () => void>()
  #timer: Timer | undefined

  /** `onEnd` is called once. */
  watch(request: Request, onEnd: () => void): void {
    this.#ends.set(request, onEnd)
    this.#timer ??= setInterval(() => this.poll(), pollEveryMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  poll(): void {
    for (const [request, onEnd] of this.#ends) {
      if (this.isOpen(request)) continue
      this.#ends.delete(request)
      onEnd()
    }
    if (this.#ends.size === 0) this.stop()
  }
}
