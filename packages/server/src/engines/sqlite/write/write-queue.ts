import { CubbyError } from '../../../core/errors.ts'
import { FairQueue } from '../../../core/fair-queue.ts'
import { repeatLater } from '../../../core/hint.ts'
import { commitBytesMax, commitRequestsMax, writeQueueBytesMax, writeQueueRequestsMax } from '../../../core/limits.ts'
import { Shares } from '../../../core/shares.ts'
import type { Command } from './command.ts'

export interface Waiting {
  command: Command
  /** Set by the queue. */
  orgId?: number
  bytes: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Our own upkeep waits as if it were an organization, which requests cannot fill. */
export const upkeepLine = 0

const full = (): CubbyError =>
  new CubbyError('unavailable', 'The write queue is full; nothing was applied.', {
    hint: repeatLater,
  })

/**
 * What waits for the next commit. Organizations take turns, and within one its API keys. Each has a share of the room,
 * in requests and in bytes, so that another always finds some.
 */
export class WriteQueue {
  readonly #waiting = new FairQueue<Waiting>()
  readonly #requests = new Shares(writeQueueRequestsMax)
  readonly #bytes = new Shares(writeQueueBytesMax)

  get empty(): boolean {
    return this.#waiting.size === 0
  }

  /** Throws `unavailable` when there is no room. */
  push(orgId: number, waiting: Waiting): void {
    waiting.orgId = orgId
    if (orgId !== upkeepLine) {
      const keySeq = keyOf(waiting)
      if (!this.#requests.hasRoom(orgId, keySeq, 1) || !this.#bytes.tryTake(orgId, keySeq, waiting.bytes)) throw full()
      this.#requests.take(orgId, keySeq, 1)
    }
    this.#waiting.push(orgId, keyOf(waiting), waiting)
  }

  /** Takes requests in turn, up to one commit's worth less what is in flight: `ahead`. */
  take(ahead: { requests: number; bytes: number }): Waiting[] {
    const requestsMax = commitRequestsMax - ahead.requests
    const bytesMax = commitBytesMax - ahead.bytes
    const taken: Waiting[] = []
    let bytes = 0
    for (
      let next = this.#waiting.peek();
      next !== undefined && taken.length < requestsMax;
      next = this.#waiting.peek()
    ) {
      const isAlone = ahead.requests + taken.length === 0
      if (!isAlone && bytes + next.bytes > bytesMax) break
      this.#waiting.shift()
      this.#giveBack(next)
      taken.push(next)
      bytes += next.bytes
    }
    return taken
  }

  #giveBack(waiting: Waiting): void {
    const orgId = waiting.orgId!
    if (orgId === upkeepLine) return
    const keySeq = keyOf(waiting)
    this.#requests.give(orgId, keySeq, 1)
    this.#bytes.give(orgId, keySeq, waiting.bytes)
  }
}

/** The API key that asked; 0 for an operator's command. */
const keyOf = ({ command }: Waiting): number => ('fence' in command ? (command.fence.keySeq ?? 0) : 0)
