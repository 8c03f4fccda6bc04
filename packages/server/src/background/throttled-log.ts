import type { Log, LogLevel } from '../core/log.ts'

interface Quiet {
  failures: number
  last: Record<string, unknown>
  readonly level: LogLevel
  readonly message: string
  readonly timer: Timer
}

/** Subjects that are remembered. Those above this number share one entry for each message. */
const subjectsMax = 1_000

/**
 * Logs failures that can come many times a second, and whose number a tenant decides. The first failure with a message about
 * a subject is logged at once; those of the next `everyMs` are counted and logged as one line.
 */
export class ThrottledLog {
  readonly #log: Log
  readonly #everyMs: number
  readonly #quiet = new Map<string, Quiet>()

  constructor(log: Log, everyMs: number) {
    this.#log = log
    this.#everyMs = everyMs
  }

  about(subject: string): Log {
    return (level, message, fields = {}) => this.#add(`${subject} ${message}`, level, message, fields)
  }

  #add(name: string, level: LogLevel, message: string, fields: Record<string, unknown>): void {
    const key = this.#quiet.size < subjectsMax || this.#quiet.has(name) ? name : message
    const quiet = this.#quiet.get(key)
    if (quiet !== undefined) {
      quiet.failures++
      quiet.last = fields
      return
    }
    this.#log(level, message, fields)
    const timer = setTimeout(() => this.#close(key), this.#everyMs)
    timer.unref()
    this.#quiet.set(key, { failures: 0, last: fields, level, message, timer })
  }

  #close(key: string): void {
    const { failures, last, level, message, timer } = this.#quiet.get(key)!
    clearTimeout(timer)
    this.#quiet.delete(key)
    if (failures > 0) this.#log(level, message, { ...last, failures })
  }

  /** Logs what was only counted so far. */
  flush(): void {
    for (const key of [...this.#quiet.keys()]) this.#close(key)
  }
}
