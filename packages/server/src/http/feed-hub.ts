import { setTimeout as sleep } from 'node:timers/promises'
import { cursorExpired, type FeedCursors, type FeedPlace } from '../core/changes/changes-cursor.ts'
import { CubbyError } from '../core/errors.ts'
import { pageBytesMax } from '../core/limits.ts'
import { changeJson, placeAtHead } from '../operations/changes/feed-pages.ts'
import type { Engine } from '../store/engine.ts'
import type { Table } from '../store/tables.ts'
import type { Batch, ChangeStream, Events, Hub } from './change-stream.ts'
import { eventText } from './event-text.ts'
import type { FeedRoom } from './feed-room.ts'
import type { Turns } from './turns.ts'

/** A batch has at most so many changes. */
const batchChangesMax = 500
/** The records of a batch, and its events. */
const batchBytes = 2 * pageBytesMax
/** In one turn so many changes are formatted, or so many streams get them: each takes about 10 µs. */
const changesAtOnce = 64
const streamsAtOnce = 32
/** After a batch that took long, there is a pause of this many times as long: what comes meanwhile is one batch. */
const pauseTimes = 3
const pauseMsMax = 100
/** What the store could not read for now is read again after this time. */
const repeatMs = 1_000

/** The log is read in nobody's name: for all streams of the table. */
const noKey = 0

const encoder = new TextEncoder()

/** Streams with the same events: of one hash, or without. */
interface Group {
  cursors: FeedCursors
  readonly withData: Set<ChangeStream>
  readonly withoutData: Set<ChangeStream>
}

/** The texts of a batch for a group. */
interface Texts {
  withData: string
  withoutData: string
  toldAfter: number
}

interface Query {
  hash: string | undefined
  withData: boolean
}

interface HubOptions {
  readonly engine: Engine
  readonly table: Table
  readonly room: FeedRoom
  readonly turns: Turns
  now(): number
  /** Called when the last stream has left. */
  onEmpty(): void
}

/**
 * Reads the log of one table for all its streams that have caught up: each new part once, and each event is made once for all
 * streams that get the same.
 */
export class FeedHub implements Hub {
  readonly #options: HubOptions
  readonly #groups = new Map<string | undefined, Group>()
  /** Streams that have joined and are not ready yet. */
  readonly #unready = new Set<ChangeStream>()
  /** Streams of this table, whether they have joined or not. */
  readonly streams = new Set<ChangeStream>()
  /** How many streams are about to be added. */
  #expected = 0
  readonly #unfollow: () => void
  readonly #started: Promise<void>
  /** What was read, and what was given to the streams. */
  #read!: FeedPlace
  #delivered!: FeedPlace
  #headSeq = 0
  #aheadSinceMs: number | undefined
  #isRunning = false
  #isClosed = false
  /** Those that have joined during a read: it may not have what they want. */
  #joining: ChangeStream[] = []

  constructor(options: HubOptions) {
    this.#options = options
    const { engine, table } = options
    this.#unfollow = engine.changes.follow(table, (seq) => this.#note(seq))
    this.#started = this.#start()
  }

  /** Resolves when streams can join. */
  get started(): Promise<void> {
    return this.#started
  }

  get delivered(): FeedPlace {
    return this.#delivered
  }

  /** For how long the log has been ahead of what was given to the streams. */
  get lagMs(): number {
    return this.#aheadSinceMs === undefined ? 0 : performance.now() - this.#aheadSinceMs
  }

  /** A stream is about to be added: the hub stays open for it, whatever other streams do. `endExpecting` comes after it. */
  expect(): void {
    this.#expected++
  }

  endExpecting(): void {
    this.#expected--
    this.#closeIfEmpty()
  }

  add(stream: ChangeStream): void {
    this.streams.add(stream)
  }

  remove(stream: ChangeStream): void {
    this.streams.delete(stream)
    this.#closeIfEmpty()
  }

  join(stream: ChangeStream): boolean {
    const { place } = stream
    if (place.walked !== undefined || place.after < this.#read.after) return false
    const { hash, withData } = stream
    const { cursors } = stream.feed
    const group = this.#groups.get(hash) ?? { cursors, withData: new Set(), withoutData: new Set() }
    this.#groups.set(hash, group)
    // Cursors are sealed with the secret of the time at which a stream began: the newest one.
    group.cursors = cursors
    ;(withData ? group.withData : group.withoutData).add(stream)
    if (!stream.isReady) this.#unready.add(stream)
    this.#joining.push(stream)
    return true
  }

  leave(stream: ChangeStream): void {
    const { hash } = stream
    const group = this.#groups.get(hash)
    this.#unready.delete(stream)
    if (group === undefined) return
    group.withData.delete(stream)
    group.withoutData.delete(stream)
    if (group.withData.size + group.withoutData.size === 0) this.#groups.delete(hash)
  }

  endAll(error: unknown): void {
    for (const stream of [...this.streams]) stream.end(error)
  }

  #closeIfEmpty(): void {
    if (this.streams.size > 0 || this.#expected > 0 || this.#isClosed) return
    this.#isClosed = true
    this.#unfollow()
    this.#options.onEmpty()
  }

  async #start(): Promise<void> {
    const { engine, table } = this.#options
    const query = { hash: undefined, withData: false }
    this.#read = await placeAtHead({ engine, table, query, keySeq: noKey })
    this.#delivered = this.#read
    this.#runIfBehind()
  }

  #note(seq: number): void {
    if (seq <= this.#headSeq) return
    this.#headSeq = seq
    if (this.#read !== undefined) this.#runIfBehind()
  }

  #runIfBehind(): void {
    if (this.#isRunning || this.#isClosed || this.#headSeq <= this.#read.after) return
    this.#isRunning = true
    this.#aheadSinceMs ??= performance.now()
    void this.#run()
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isClosed && this.#headSeq > this.#read.after) {
        const startedAtMs = performance.now()
        await this.#passOn()
        const pauseMs = Math.min(pauseTimes * (performance.now() - startedAtMs), pauseMsMax)
        if (this.#headSeq <= this.#read.after) this.#aheadSinceMs = undefined
        if (pauseMs >= 1) await sleep(pauseMs)
        if (this.#headSeq > this.#read.after) this.#aheadSinceMs ??= performance.now()
      }
    } catch (error) {
      this.endAll(error)
    } finally {
      this.#isRunning = false
    }
  }

  /** Reads the next part of the log, and gives it to the streams. */
  async #passOn(): Promise<void> {
    const { engine, table, room, now } = this.#options
    await room.enter(table.orgId, noKey, batchBytes)
    try {
      await this.#turn()
      const query = this.#query()
      const from = this.#read
      this.#joining = []
      const request = { ...query, after: from.after, seen: from.seen, changesMax: batchChangesMax }
      const page = await engine.changes.read(table, request, now(), noKey)
      if (page === undefined) throw cursorExpired()
      this.#headSeq = Math.max(this.#headSeq, page.head.seq)
      this.#read = { after: page.place.seq, seen: page.head }
      this.#leaveOut(query)
      await this.#deliver({ from, to: this.#read, changes: page.changes })
      this.#delivered = this.#read
      for (const stream of [...this.#unready]) {
        stream.moveTo(this.#delivered)
        if (stream.isReady) this.#unready.delete(stream)
      }
    } catch (error) {
      if (!(error instanceof CubbyError) || error.code !== 'unavailable') throw error
      await sleep(repeatMs)
    } finally {
      room.give(table.orgId, noKey, batchBytes)
    }
  }

  /** What the streams want together. */
  #query(): Query {
    const groups = [...this.#groups]
    return {
      hash: groups.length === 1 ? groups[0]![0] : undefined,
      withData: groups.some(([, { withData }]) => withData.size > 0),
    }
  }

  /** Streams that have joined during a read that does not have what they want read it themselves. */
  #leaveOut({ hash, withData }: Query): void {
    for (const stream of this.#joining) {
      const isServed = (withData || !stream.withData) && (hash === undefined || hash === stream.hash)
      if (!isServed && !stream.isEnding) stream.fallBehind()
    }
    this.#joining = []
  }

  async #deliver(batch: Batch): Promise<void> {
    const texts = await this.#textsOf(batch)
    let count = 0
    for (const [group, { withData, withoutData, toldAfter }] of texts) {
      for (const [streams, text] of [
        [group.withData, withData],
        [group.withoutData, withoutData],
      ] as const) {
        if (text === '') continue
        const events: Events = { bytes: encoder.encode(text), toldAfter }
        for (const stream of [...streams]) {
          if (++count % streamsAtOnce === 0) await this.#nextTurn()
          if (streams.has(stream) && !stream.deliver(batch, events)) stream.fallBehind()
        }
      }
    }
  }

  async #textsOf({ changes, to: { seen } }: Batch): Promise<Map<Group, Texts>> {
    const texts = new Map<Group, Texts>()
    for (const [i, change] of changes.entries()) {
      if (i > 0 && i % changesAtOnce === 0) await this.#nextTurn()
      const { hashKey } = change.op === 'put' ? change.record : change.key
      for (const group of [this.#groups.get(undefined), this.#groups.get(hashKey)]) {
        if (group === undefined) continue
        const text = texts.get(group) ?? { withData: '', withoutData: '', toldAfter: 0 }
        texts.set(group, text)
        const { seq } = change
        const id = group.cursors.encode({ after: seq, seen })
        if (group.withData.size > 0) text.withData += eventText(change.op, changeJson(change, true), id)
        if (group.withoutData.size > 0) text.withoutData += eventText(change.op, changeJson(change, false), id)
        text.toldAfter = seq
      }
    }
    return texts
  }

  async #nextTurn(): Promise<void> {
    await new Promise(setImmediate)
    await this.#turn()
  }

  async #turn(): Promise<void> {
    const { turns, table } = this.#options
    while (!turns.isFree) {
      // What was read must be given to all, however long that takes.
      try {
        await turns.wait(table.orgId, noKey)
        break
      } catch {}
    }
    turns.begin(table.orgId, noKey, true)
  }
}
