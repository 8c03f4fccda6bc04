import { CubbyError } from '../../../core/errors.ts'
import { FairQueue } from '../../../core/fair-queue.ts'
import { repeatLater } from '../../../core/hint.ts'
import { commitBytesMax, commitRequestsMax, writeQueueBytesMax, writeQueueRequestsMax } from '../../../core/limits.ts'
import { Shares } from '../../../core/shares.ts'
import type { Command } from './command.ts'

export interface QueuedWrite {
  command: Command
  bytes: number
  /** The bytes that it takes of a commit. */
  weight: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Maintenance and the operator's commands take turns like one more organization. Requests cannot fill their queue. */
const maintenanceOrgId = 0

const full = (): CubbyError =>
  new CubbyError('unavailable', 'The write queue is full; nothing was applied.', {
    hint: repeatLater,
  })

/**
 * Writes that wait to be sent to the writer. Organizations take turns, and within one its API keys. Each has a share of
 * the queue, in requests and in bytes, so that there is always room for another.
 */
export class WriteQueue {
  readonly #queued = new FairQueue<QueuedWrite>()
  /** Commits of loads are long: they wait apart, so that no other write waits behind one that may not be sent yet. */
  readonly #loads = new FairQueue<QueuedWrite>()
  readonly #requests = new Shares(writeQueueRequestsMax)
  readonly #bytes = new Shares(writeQueueBytesMax)

  get empty(): boolean {
    return this.size === 0
  }

  get size(): number {
    return this.#queued.size + this.#loads.size
  }

  /** The bytes of all queued writes but those of maintenance. */
  get bytes(): number {
    return this.#bytes.used
  }

  /** Throws `unavailable` when the share or the queue is full. */
  push(write: QueuedWrite): void {
    const orgId = orgOf(write)
    if (orgId !== maintenanceOrgId) {
      const keySeq = keyOf(write)
      if (!this.#requests.hasRoom(orgId, keySeq, 1) || !this.#bytes.tryTake(orgId, keySeq, write.bytes)) throw full()
      this.#requests.take(orgId, keySeq, 1)
    }
    const queue = isLoad(write) ? this.#loads : this.#queued
    queue.push(orgId, keyOf(write), write)
  }

  get hasLoad(): boolean {
    return this.#loads.size > 0
  }

  /** Takes the next commit of a load. */
  takeLoad(): QueuedWrite | undefined {
    const load = this.#loads.shift()
    if (load !== undefined) this.#giveBack(load)
    return load
  }

  /** Takes other requests in turn, up to one commit's worth, less what is in flight. */
  take(inFlight: { requests: number; weight: number }): QueuedWrite[] {
    const requestsMax = commitRequestsMax - inFlight.requests
    const weightMax = commitBytesMax - inFlight.weight
    const taken: QueuedWrite[] = []
    let weight = 0
    for (let next = this.#queued.peek(); next !== undefined && taken.length < requestsMax; next = this.#queued.peek()) {
      const isAlone = inFlight.requests + taken.length === 0
      if (!isAlone && weight + next.weight > weightMax) break
      this.#queued.shift()
      this.#giveBack(next)
      taken.push(next)
      weight += next.weight
    }
    return taken
  }

  *takeAll(): Generator<QueuedWrite> {
    for (const queue of [this.#queued, this.#loads]) {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        this.#giveBack(next)
        yield next
      }
    }
  }

  #giveBack(write: QueuedWrite): void {
    const orgId = orgOf(write)
    if (orgId === maintenanceOrgId) return
    const keySeq = keyOf(write)
    this.#requests.give(orgId, keySeq, 1)
    this.#bytes.give(orgId, keySeq, write.bytes)
  }
}

export const isLoad = ({ command }: QueuedWrite): boolean => command.kind === 'putAll'

/** Returns the organization whose turn a command takes. */
const orgOf = ({ command }: QueuedWrite): number => {
  if ('fence' in command) return command.fence.orgId
  return 'orgId' in command ? command.orgId : maintenanceOrgId
}

/** The share of the caller's API key, or of its user; 0 for an operator's command. */
const keyOf = ({ command }: QueuedWrite): number =>
  'fence' in command ? (command.fence.user?.shareSeq ?? command.fence.keySeq ?? 0) : 0
