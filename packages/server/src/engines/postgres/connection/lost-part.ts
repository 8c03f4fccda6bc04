import { CubbyError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'

const logEveryMs = 10_000

/** The database, or a part of it, cannot be reached at the moment. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof CubbyError && (error.code === 'unavailable' || error.code === 'outcome_unknown')

/** Remembers whether one of several servers could not be reached when it was needed last, and logs changes of that. */
export class LostPart {
  readonly #log: Log
  #isLost = false
  #isLogged = false
  #loggedAtMs = Number.NEGATIVE_INFINITY

  constructor(log: Log) {
    this.#log = log
  }

  get isLost(): boolean {
    return this.#isLost
  }

  lost(error: unknown): void {
    this.#isLost = true
    if (this.#isLogged || performance.now() - this.#loggedAtMs < logEveryMs) return
    this.#isLogged = true
    this.#loggedAtMs = performance.now()
    this.#log('warn', 'a part of the database cannot be reached', { cause: String(error) })
  }

  /** This is called when all servers have answered. */
  found(): void {
    if (this.#isLogged) this.#log('info', 'all parts of the database can be reached again')
    this.#isLost = false
    this.#isLogged = false
  }
}

const postponedMs = 10_000
const postponedMax = 10_000

/** Tables and tasks whose work has failed are skipped for a while, so that they do not delay the others. */
export class Postponed {
  readonly #untilMs = new Map<number, number>()

  add(id: number): void {
    if (this.#untilMs.size >= postponedMax) this.#untilMs.clear()
    this.#untilMs.set(id, performance.now() + postponedMs)
  }

  get ids(): number[] {
    const now = performance.now()
    for (const [id, untilMs] of this.#untilMs) if (untilMs <= now) this.#untilMs.delete(id)
    return [...this.#untilMs.keys()]
  }
}
