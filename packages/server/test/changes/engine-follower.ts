import type { FeedPlace } from '../../src/core/changes/changes-cursor.ts'
import {
  type FeedPage,
  type FeedReader,
  placeAtHead,
  placeAtStart,
  readFeed,
} from '../../src/operations/changes/feed-pages.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Table } from '../../src/store/tables.ts'
import type { Fixture } from '../conformance/fixture.ts'
import { nameOf, timeScan } from '../conformance/fixture.ts'
import { eventually } from '../harness.ts'
import { lineOf, TableCopy } from './table-copy.ts'

/** The records of a table, as `TableCopy.lines` has those of a copy. */
export const tableLines = async (fixture: Fixture, nowMs: number, hash?: string): Promise<string[]> => {
  const records = await fixture.list(timeScan(), nowMs)
  return records
    .filter(({ hashKey }) => hash === undefined || hashKey === hash)
    .map((record) => lineOf(nameOf(record), record.updatedAtMs, JSON.stringify(JSON.parse(record.data))))
    .toSorted()
}

/** A reader of an engine that keeps a copy of a table. It reads only what it must: when it is told of a new entry. */
export class EngineFollower {
  readonly copy = new TableCopy()
  readonly #reader: FeedReader
  readonly #now: () => number
  #place: FeedPlace
  #toldSeq = 0
  #isOver = false
  #wake = Promise.withResolvers<void>()
  #running: Promise<void> | undefined
  #unfollow: (() => void) | undefined

  private constructor(reader: FeedReader, place: FeedPlace, now: () => number) {
    this.#reader = reader
    this.#place = place
    this.#now = now
  }

  static async begin(
    engine: Engine,
    table: Table,
    { from = 'start', hash, now = Date.now }: { from?: 'start' | 'now'; hash?: string; now?: () => number } = {},
  ): Promise<EngineFollower> {
    const reader: FeedReader = { engine, table, query: { hash, withData: true }, keySeq: 0 }
    const place = from === 'start' ? await placeAtStart(reader) : await placeAtHead(reader)
    return new EngineFollower(reader, place, now)
  }

  get hash(): string | undefined {
    return this.#reader.query.hash
  }

  get place(): FeedPlace {
    return this.#place
  }

  async read(itemsMax?: number): Promise<FeedPage> {
    const page = await readFeed(this.#reader, this.#place, this.#now(), itemsMax)
    for (const { json } of page.items) this.copy.apply(JSON.parse(json), this.#now())
    this.#place = page.place
    return page
  }

  /** Reads up to the end of the log. */
  async drain(itemsMax?: number): Promise<void> {
    while ((await this.read(itemsMax)).more) {
      // It goes on.
    }
  }

  /** Reads all that there is, and from then on only what it is told of. */
  follow(): void {
    const { engine, table } = this.#reader
    this.#unfollow = engine.changes.follow(table, (seq) => {
      this.#toldSeq = Math.max(this.#toldSeq, seq)
      this.#wake.resolve()
    })
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    let isFirst = true
    while (!this.#isOver) {
      if (!isFirst && this.#toldSeq <= this.#place.after) {
        await this.#wake.promise
        this.#wake = Promise.withResolvers()
        continue
      }
      isFirst = false
      const told = this.#toldSeq
      // A walk takes long enough for others to write what it has passed.
      const page = await this.read(this.#place.walked === undefined ? 100 : 1)
      // A reader that is told too early reads nothing, and is not told again.
      if (page.head.seq < told) this.copy.faults.push(`it was told of ${told} when ${page.head.seq} was the newest`)
      if (this.#place.walked !== undefined) isFirst = true
    }
  }

  /** Waits until it has read up to the newest entry, without a look of its own, and ends it. */
  async end(): Promise<void> {
    const head = await this.#reader.engine.changes.head(this.#reader.table)
    const isThere = () => (this.#place.walked === undefined && this.#place.after >= head.seq) || undefined
    try {
      await eventually(`the follower reads up to ${head.seq}`, isThere, { waitMsMax: 10_000, pauseMs: 5 })
    } finally {
      this.#isOver = true
      this.#wake.resolve()
      this.#unfollow?.()
      await this.#running
    }
  }
}
