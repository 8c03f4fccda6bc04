import { CubbyError } from '../../core/errors.ts'
import { commitBytesMax, commitRequestsMax, writeQueueBytesMax, writeQueueRequestsMax } from '../../core/limits.ts'
import type { Command } from './command.ts'

export interface Waiting {
  command: Command
  bytes: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface Line {
  waiting: Waiting[]
  bytes: number
}

/** Our own upkeep waits in a line of its own, which requests cannot fill. */
export const upkeepLine = 0

const full = (): CubbyError =>
  new CubbyError('unavailable', 'The write queue is full; nothing was applied.', {
    hint: 'Repeat the request after the time in Retry-After.',
  })

/**
 * What waits for the next commit: one line an organization, served in turn. No line holds more than half of the
 * whole, in requests or in bytes, so another organization always finds room.
 */
export class WriteQueue {
  readonly #lines = new Map<number, Line>()
  #requests = 0
  #bytes = 0

  get empty(): boolean {
    return this.#requests === 0
  }

  /** Throws `unavailable` when there is no room. An empty queue takes any one request, however large. */
  push(orgId: number, waiting: Waiting): void {
    let line = this.#lines.get(orgId)
    const lineRequests = line?.waiting.length ?? 0
    const lineBytes = line?.bytes ?? 0
    if (orgId !== upkeepLine && lineRequests > 0) {
      if (lineRequests + 1 > writeQueueRequestsMax / 2 || lineBytes + waiting.bytes > writeQueueBytesMax / 2)
        throw full()
    }
    if (orgId !== upkeepLine && this.#requests > 0) {
      if (this.#requests + 1 > writeQueueRequestsMax || this.#bytes + waiting.bytes > writeQueueBytesMax) throw full()
    }
    if (line === undefined) {
      line = { waiting: [], bytes: 0 }
      this.#lines.set(orgId, line)
    }
    line.waiting.push(waiting)
    line.bytes += waiting.bytes
    this.#requests++
    this.#bytes += waiting.bytes
  }

  /**
   * What may leave now, beside `ahead` that has left already: from each line in turn, in the order of each line. The two
   * together are one commit's worth at the most.
   */
  take(ahead: { requests: number; bytes: number }): Waiting[] {
    const requestsMax = commitRequestsMax - ahead.requests
    const bytesMax = commitBytesMax - ahead.bytes
    const [first] = this.#lines
    if (this.#lines.size === 1 && this.#requests <= requestsMax && this.#bytes <= bytesMax) {
      this.#lines.clear()
      this.#requests = 0
      this.#bytes = 0
      return first![1].waiting
    }
    const taken: Waiting[] = []
    let bytes = 0
    while (taken.length < requestsMax) {
      const [turn] = this.#lines
      if (turn === undefined) break
      const [orgId, line] = turn
      const next = line.waiting[0]!
      const isAlone = ahead.requests + taken.length === 0
      if (!isAlone && bytes + next.bytes > bytesMax) break
      taken.push(next)
      bytes += next.bytes
      line.waiting.shift()
      line.bytes -= next.bytes
      // To the back of the map, which keeps the order in which lines were set.
      this.#lines.delete(orgId)
      if (line.waiting.length > 0) this.#lines.set(orgId, line)
    }
    this.#requests -= taken.length
    this.#bytes -= bytes
    return taken
  }
}
