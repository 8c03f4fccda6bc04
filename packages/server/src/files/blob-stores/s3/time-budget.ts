import { S3Failure } from './failure.ts'

/** Ends a request that makes no progress, or whose result nobody needs any more. */
export class TimeBudget {
  readonly #controller = new AbortController()
  readonly #outer: readonly AbortSignal[]
  readonly #end = (event: Event): void => this.end((event.target as AbortSignal).reason)
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(outer: readonly AbortSignal[]) {
    this.#outer = outer
    for (const signal of outer) {
      if (signal.aborted) this.end(signal.reason)
      else signal.addEventListener('abort', this.#end)
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The next progress must come within this time. Replaces the limit before it. */
  wait(ms: number): void {
    this.rest()
    if (this.signal.aborted) return
    this.#timer = setTimeout(() => this.end(new S3Failure(`S3 made no progress for ${ms} ms`)), ms)
  }

  /** Nothing is expected now. */
  rest(): void {
    clearTimeout(this.#timer)
  }

  /** Ends the request if it is not over yet, and frees the rest. */
  end(reason: unknown): void {
    this.rest()
    for (const signal of this.#outer) signal.removeEventListener('abort', this.#end)
    this.#controller.abort(reason)
  }
}
