import type { Log } from '../core/log.ts'

interface Quiet {
  failures: number
  last: Record<string, unknown>
  readonly message: string
  readonly timer: Timer
}

/** Subjects that are remembered. Those above this number share one entry. */
const subjectsMax = 1_000

/**
 * Logs failures that can come many times a second, and whose number a tenant decides. The first failure of a subject is
 * logged at once; those of the next `everyMs` are counted and logged as one line.
 */
export class RareLog {
  readonly #log: Log
  readonly #everyMs: number
  readonly #quiet = new Map<string, Quiet>()

  constructor(log: Log, everyMs: number) {
    this.#log = log
    this.#everyMs = everyMs
  }

  warn(subject: string, message: string, fields: Record<string, unknown>): void {
    const key = this.#quiet.size < subjectsMax || this.#quiet.has(subject) ? subject : ''
    const quiet = this.#quiet.get(key)
    if (quiet !== undefined) {
      quiet.failures++
      quiet.last = fields
      return
    }
    this.#log('warn', message, fields)
    const timer = setTimeout(() => this.#close(key), this.#everyMs)
    timer.unref()
    this.#quiet.set(key, { failures: 0, last: fields, message, timer })
  }

  #close(key: string): void {
    const { failures, last, message, timer } = this.#quiet.get(key)!
    clearTimeout(timer)
    this.#quiet.delete(key)
    if (failures > 0) this.#log('warn', message, { ...last, failures })
  }

  /** Logs what was only counted so far. */
  flush(): void {
    for (const key of [...this.#quiet.keys()]) this.#close(key)
  }
}
