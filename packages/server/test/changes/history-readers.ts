import type { ApiResponse, Json } from '../harness.ts'
import { readBlocks } from '../http/event-blocks.ts'
import { Random } from '../model/random.ts'
import type { HistoryLedger } from './history-ledger.ts'
import type { Stage } from './history-stage.ts'
import { tablePath } from './history-writers.ts'
import { TableCopy } from './table-copy.ts'

/** How a reader reads: it may change at every pause. */
export type Way = 'pages' | 'waits' | 'stream'

const path = `${tablePath}/changes`
export const keptMs = 60 * 60_000

/**
 * A reader that stops at any moment and goes on from its last cursor. It checks all that a reader may rely on, while others
 * write.
 */
export class HistoryReader {
  copy = new TableCopy()
  readonly faults: string[] = []
  readonly ways: readonly Way[]
  readonly hash: string | undefined
  readonly #select: string | undefined
  readonly #stage: Stage
  readonly #ledger: HistoryLedger
  readonly #random: Random
  #cursor: string | undefined
  /** The cursor is valid for an hour from then at least; undefined before the first response. */
  #validFromMs: number | undefined
  sessions = 0
  items = 0
  restarts = 0

  constructor(
    stage: Stage,
    ledger: HistoryLedger,
    seed: number,
    { ways, hash, select }: { ways: readonly Way[]; hash?: string; select?: 'keys' },
  ) {
    this.ways = ways
    this.hash = hash
    this.#select = select
    this.#stage = stage
    this.#ledger = ledger
    this.#random = new Random(seed)
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      this.sessions++
      const ended = AbortSignal.timeout(this.#random.int(20, 900))
      const isEnded = () => ended.aborted || isOver()
      const way = this.#random.pick(this.ways)
      await (way === 'stream' ? this.#stream(ended, isOver) : this.#pages(isEnded, way === 'waits'))
      await Bun.sleep(this.#random.chance(0.3) ? 0 : this.#random.int(1, 200))
    }
  }

  /** Reads up to the end of the log. */
  async drain(): Promise<void> {
    while ((await this.#page({ limit: 1_000 })) !== false) {
      // It goes on.
    }
  }

  async #pages(isEnded: () => boolean, waits: boolean): Promise<void> {
    while (!isEnded()) {
      const more = await this.#page({
        limit: this.#random.pick([1, 7, 50, 1_000]),
        ...(waits ? { waitSeconds: 1 } : {}),
      })
      if (more === false && !waits) await Bun.sleep(this.#random.int(1, 50))
    }
  }

  /** Returns `more`; undefined if there was no response. */
  async #page(request: Json): Promise<boolean | undefined> {
    const api = await this.#stage.api()
    const [settled, beganMs] = [this.#ledger.settled(), this.#stage.now()]
    const cursor = this.#cursor === undefined ? {} : { cursor: this.#cursor }
    const answer = await api.post(path, { ...request, ...this.#query(), ...cursor }).catch(() => undefined)
    if (answer === undefined || !this.#isRead(answer, beganMs)) {
      await Bun.sleep(20)
      return undefined
    }
    // The reader is stopped before it has handled the page: it goes on from the cursor before.
    if (this.#random.chance(0.05)) return undefined
    const { items, more } = answer.body
    this.#validFromMs ??= beganMs
    this.#apply(items)
    this.#cursor = answer.body.cursor
    if (!more) {
      this.#validFromMs = beganMs
      this.#check(settled, 'a page')
    }
    return more
  }

  async #stream(ended: AbortSignal, isOver: () => boolean): Promise<void> {
    const api = await this.#stage.api()
    const [settled, beganMs] = [this.#ledger.settled(), this.#stage.now()]
    const asHeader = this.#random.chance(0.7)
    const cursor = this.#cursor
    try {
      const response = await fetch(`${api.server.url}${path}`, {
        method: 'POST',
        signal: ended,
        headers: {
          authorization: `Bearer ${api.key}`,
          accept: 'text/event-stream',
          'content-type': 'application/json',
          ...(cursor !== undefined && asHeader ? { 'last-event-id': cursor } : {}),
        },
        body: JSON.stringify({ ...this.#query(), ...(cursor !== undefined && !asHeader ? { cursor } : {}) }),
      })
      if (response.status !== 200) {
        const text = await response.text()
        this.#isRead({ status: response.status, headers: response.headers, text, body: JSON.parse(text) }, beganMs)
        return
      }
      let isReady = false
      for await (const { event, data, id } of readBlocks(response.body!)) {
        if (event === 'end') return
        if (event === 'put' || event === 'delete') {
          const item = JSON.parse(data!)
          if (item.op !== event) this.faults.push(`a ${event} is a ${item.op}`)
          this.#apply([item])
          if (isReady) this.#validFromMs = Math.max(this.#validFromMs ?? 0, item.updatedAt ?? item.deletedAt)
        }
        // An id may come before the walk is done: the cursor is as old as the beginning.
        this.#validFromMs ??= beganMs
        if (id !== undefined) this.#cursor = id
        if (event === 'ready') {
          isReady = true
          this.#validFromMs = beganMs
          this.#check(settled, 'a stream that is ready')
        }
        if (isOver()) return
      }
    } catch {
      // The reader was stopped, or the process was killed.
    }
  }

  #query(): Json {
    return {
      ...(this.hash === undefined ? {} : { hash: this.hash }),
      ...(this.#select === undefined ? {} : { select: this.#select }),
    }
  }

  #apply(items: Json[]): void {
    this.items += items.length
    for (const item of items) {
      if (this.hash !== undefined && item.hashKey !== this.hash) this.faults.push(`${item.hashKey} is of another hash`)
      this.copy.apply(item, this.#stage.now())
    }
  }

  #check(settled: ReturnType<HistoryLedger['settled']>, what: string): void {
    for (const fault of this.#ledger.compare(settled, this.copy, this.#stage.now(), this.hash)) {
      this.faults.push(`${what} does not know what was answered before it: ${fault}`)
    }
  }

  #isRead({ status, body, text }: ApiResponse, nowMs: number): boolean {
    if (status === 200) return true
    const code = body?.error?.code
    if (code === 'cursor_expired') {
      const ageMs = nowMs - (this.#validFromMs ?? 0)
      if (ageMs < keptMs - 1_000) this.faults.push(`a cursor of ${ageMs} ms ago has expired`)
      this.faults.push(...this.copy.faults)
      this.copy = new TableCopy()
      this.#cursor = undefined
      this.#validFromMs = undefined
      this.restarts++
    } else if (code !== 'unavailable') this.faults.push(`a read was answered ${status}: ${text}`)
    return false
  }
}
