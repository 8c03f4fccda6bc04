import { Fifo, Turns } from '../core/fair-queue.ts'
import { streamsUnsentBytesMax } from '../core/limits.ts'
import { Shares } from '../core/shares.ts'

interface Waiter {
  bytes: number
  begin(): void
}

/** Those of one API key, or the readers of logs of one organization, that wait. */
interface Line {
  readonly orgId: number
  readonly member: number
  readonly waiting: Fifo<Waiter>
}

/**
 * The memory that all streams of changes use together: the bytes that wait for their readers, and what is being read for them.
 * Members are API keys; 0 stands for what is read once for all streams of a table.
 */
export class FeedRoom {
  readonly #shares = new Shares(streamsUnsentBytesMax, () => this.#wake())
  readonly #lines = new Turns<Line>()
  #isServeDue = false

  /** False, and nothing is taken, if there is no room. */
  tryTake(orgId: number, member: number, bytes: number): boolean {
    return this.#shares.tryTake(orgId, member, bytes)
  }

  /** Takes it even if there is no room. */
  take(orgId: number, member: number, bytes: number): void {
    this.#shares.take(orgId, member, bytes)
  }

  give(orgId: number, member: number, bytes: number): void {
    this.#shares.give(orgId, member, bytes)
  }

  /** Takes it when there is room. Those of one member are served in their order. */
  async enter(orgId: number, member: number, bytes: number): Promise<void> {
    const line = this.#lines.get(orgId, member)
    if (line === undefined && this.tryTake(orgId, member, bytes)) return
    const { waiting } = line ?? { waiting: new Fifo<Waiter>() }
    if (line === undefined) this.#lines.set(orgId, member, { orgId, member, waiting })
    await new Promise<void>((begin) => waiting.push({ bytes, begin }))
  }

  #wake(): void {
    if (this.#isServeDue || this.#lines.orgCount === 0) return
    this.#isServeDue = true
    setImmediate(this.#serve)
  }

  readonly #serve = (): void => {
    this.#isServeDue = false
    const hasRoom = ({ orgId, member, waiting }: Line): boolean =>
      this.#shares.hasRoom(orgId, member, waiting.first!.bytes)
    for (;;) {
      const line = this.#lines.next(undefined, hasRoom)
      if (line === undefined) return
      const { bytes, begin } = line.waiting.shift()!
      if (line.waiting.size === 0) this.#lines.remove(line.orgId, line.member)
      this.take(line.orgId, line.member, bytes)
      begin()
    }
  }
}
