import type { Awaitable } from '../core/awaitable.ts'
import { cursorExpired } from '../core/changes/changes-cursor.ts'
import { CubbyError } from '../core/errors.ts'
import { type Hint, repeatLater } from '../core/hint.ts'
import {
  connectionIdleSecondsMax,
  followersMax,
  streamIdleMsMax,
  streamMsMax,
  streamSilenceMs,
} from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import { StrictShares } from '../core/shares.ts'
import { type ChangesWait, type OpenFeed, openFeed } from '../operations/changes/read-changes.ts'
import { type ApiKey, shareOf, type TokenUser } from '../store/api-keys.ts'
import type { Changes } from '../store/changes.ts'
import type { Table } from '../store/tables.ts'
import { causeOf } from './cause-of.ts'
import { ChangeStream, type StreamOptions } from './change-stream.ts'
import { FeedHub } from './feed-hub.ts'
import { FeedRoom } from './feed-room.ts'
import { type Peer, readSendQueues } from './send-queues.ts'
import type { Turns } from './turns.ts'
import type { UserWaits } from './user-waits.ts'

type Follower = Pick<ApiKey, 'orgId' | 'seq' | 'user'>

const tickMs = 250
/** A key or a table that is gone is noticed after this time. */
const checkEveryMs = 1_000
/** How often is looked at what the readers have taken. */
const judgeEveryMs = 2_500
/** The last words of a server that stops are given this much time. */
const lastWordsMs = 500
/** Bun does not notice that a response is cut while its reader takes nothing. The connection ends with this idle time. */
const cutIdleSeconds = 1
/** In one iteration of the event loop so many streams are written to. */
const streamsAtOnce = 64
/** So many keys and tokens of streams are looked up at the same time. */
const checksAtOnce = 64

const tooMany = (): CubbyError =>
  new CubbyError('unavailable', 'Too many streams and requests wait for changes.', { hint: repeatLater })

const stopping = (hint: Hint): CubbyError => new CubbyError('unavailable', 'The server stops.', { hint })

const goOnSoon = 'Go on from the last id, after the time in retry.'

const tooOld = (): CubbyError =>
  new CubbyError('unavailable', 'The stream has lasted for an hour.', { hint: 'Go on from the last id, at once.' })

/** The codes with which a request is refused whose key or table is gone. Another error may pass. */
const isLasting = ({ code }: CubbyError): boolean => code !== 'unavailable' && code !== 'internal'

type StreamRequest = Omit<StreamOptions, 'readySeq' | 'hub' | 'room' | 'onEnd' | 'onFault'>

/** What is known of a stream beside what it sends. */
interface Begun {
  readonly hub: FeedHub
  readonly peer: Peer | null
  readonly endsAtMs: number
  readonly endsAtClockMs: number
  /** What its reader had taken at most, and when that was first seen. */
  takenBytes: number
  takenAtMs: number
}

/** The streams of changes and the requests that wait for changes, of this process. */
export class Feeds {
  /** The other end of the request's connection; null if that is over. */
  peerOf: (request: Request) => Peer | null = () => null
  setIdleTimeout: (request: Request, seconds: number) => void = () => {}
  readonly #changes: Pick<Changes, 'follow'>
  readonly #turns: Turns
  readonly #userWaits: UserWaits
  readonly #now: () => number
  readonly #log: Log
  readonly #shares = new StrictShares(followersMax)
  readonly #room = new FeedRoom()
  /** Ends all waits. */
  readonly #stops = new Set<() => void>()
  readonly #hubs = new Map<string, FeedHub>()
  readonly #streams = new Map<ChangeStream, Begun>()
  /** Requests whose streams were cut, and whose connections may be open. */
  readonly #cutRequests = new Set<Request>()
  #timer: Timer | undefined
  #checkedAtMs = 0
  #judgedAtMs = 0
  #isTicking = false
  #isStopping = false
  /** Streams and waits that were refused, and streams that were cut. */
  #refusedCount = 0
  #cutCount = 0

  constructor(
    changes: Pick<Changes, 'follow'>,
    turns: Turns,
    userWaits: UserWaits,
    { now, log }: { now(): number; log: Log },
  ) {
    this.#changes = changes
    this.#turns = turns
    this.#userWaits = userWaits
    this.#now = now
    this.#log = log
  }

  get streamCount(): number {
    return this.#streams.size
  }

  /** Responses that were cut, and whose connections are still open. */
  get openCutCount(): number {
    this.#forgetClosed()
    return this.#cutRequests.size
  }

  /** `lagMs`: for how long the log of a table has been ahead of its streams, of the slowest. */
  get measures(): { streams: number; waits: number; refused: number; cut: number; lagMs: number } {
    const streams = this.#streams.size
    let lagMs = 0
    for (const hub of this.#hubs.values()) lagMs = Math.max(lagMs, hub.lagMs)
    const waits = followersMax - this.#shares.free - streams
    return { streams, waits, refused: this.#refusedCount, cut: this.#cutCount, lagMs }
  }

  /** Takes a place among the followers; the function that is returned gives it back. Throws `unavailable` if there is none. */
  enter(follower: Follower): () => void {
    const { orgId } = follower
    const seq = shareOf(follower)
    if (this.#isStopping || this.#shares.room(orgId, seq) === 0) {
      this.#refusedCount++
      throw tooMany()
    }
    this.#shares.take(orgId, seq, 1)
    return () => this.#shares.give(orgId, seq, 1)
  }
  #enterStream(follower: Follower): () => void {
    const leave = this.enter(follower)
    try {
      const leaveAsUser = follower.user && this.#userWaits.enter(follower.user)
      return () => {
        leave()
        leaveAsUser?.()
      }
    } catch (error) {
      leave()
      throw error
    }
  }

  /** The wait of one request. */
  begin(follower: Follower, table: Table): ChangesWait {
    const leave = this.enter(follower)
    let headSeq = 0
    let wake: (() => void) | undefined
    const unfollow = this.#changes.follow(table, (seq) => {
      headSeq = Math.max(headSeq, seq)
      wake?.()
    })
    return {
      until: (after, ms, signal) =>
        new Promise((resolve) => {
          if (headSeq > after) return resolve('maybe')
          if (ms <= 0 || this.#isStopping || signal?.aborted === true) return resolve('over')
          const end = (why: 'maybe' | 'over'): void => {
            clearTimeout(timer)
            signal?.removeEventListener('abort', onOver)
            this.#stops.delete(onOver)
            wake = undefined
            resolve(why)
          }
          const onOver = (): void => end('over')
          const timer = setTimeout(onOver, ms)
          signal?.addEventListener('abort', onOver)
          this.#stops.add(onOver)
          wake = () => {
            if (headSeq > after) end('maybe')
          }
        }),
      end: () => {
        unfollow()
        leave()
      },
    }
  }

  /** Begins a stream. Throws `cursor_expired`. */
  async stream(request: StreamRequest): Promise<ReadableStream<Uint8Array>> {
    const { exchange, feed, place } = request
    const { engine, table, query, keySeq } = feed.reader
    const leave = this.#enterStream(exchange.access.apiKey)
    const hub = this.#hubOf(feed)
    hub.expect()
    try {
      await hub.started
      // What was committed before the stream began, and whether the place is in the log.
      const begin = { ...query, after: place.after, seen: place.seen, changesMax: 0 }
      const log = await engine.changes.read(table, begin, exchange.nowMs, keySeq)
      if (log === undefined) throw cursorExpired()
      if (this.#isStopping) throw stopping(repeatLater)
      const onEnd = (): void => {
        this.#streams.delete(stream)
        this.setIdleTimeout(exchange.request, connectionIdleSecondsMax)
        leave()
        hub.remove(stream)
      }
      const onFault = (error: unknown): void =>
        this.#log('error', 'stream failed', { requestId: exchange.requestId, cause: causeOf(error) })
      const stream: ChangeStream = new ChangeStream({
        ...{ ...request, readySeq: log.head.seq, hub, room: this.#room, onEnd, onFault },
      })
      this.#add(stream, hub)
      return stream.body
    } catch (error) {
      leave()
      throw error
    } finally {
      hub.endExpecting()
    }
  }

  stop(): void {
    this.#isStopping = true
    for (const stop of [...this.#stops]) stop()
    for (const stream of [...this.#streams.keys()]) stream.end(stopping(goOnSoon))
    clearInterval(this.#timer)
    setTimeout(() => {
      for (const stream of [...this.#streams.keys()]) this.#cut(stream)
    }, lastWordsMs)
  }

  #hubOf({ reader: { engine, table } }: OpenFeed): FeedHub {
    const name = `${table.id} ${table.changes!.sinceMs}`
    const found = this.#hubs.get(name)
    if (found !== undefined) return found
    const hub: FeedHub = new FeedHub({
      ...{ engine, table, room: this.#room, turns: this.#turns, now: this.#now },
      onEmpty: () => this.#hubs.delete(name),
    })
    this.#hubs.set(name, hub)
    return hub
  }

  #add(stream: ChangeStream, hub: FeedHub): void {
    const nowMs = performance.now()
    this.#streams.set(stream, {
      ...{ hub, peer: this.peerOf(stream.exchange.request), takenBytes: 0, takenAtMs: nowMs },
      endsAtMs: nowMs + streamMsMax,
      endsAtClockMs: this.#now() + streamMsMax,
    })
    hub.add(stream)
    this.setIdleTimeout(stream.exchange.request, 0)
    stream.begin()
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => void this.#tick(), tickMs)
    this.#timer.unref()
  }

  async #tick(): Promise<void> {
    if (this.#isTicking) return
    this.#isTicking = true
    try {
      const nowMs = performance.now()
      await this.#tend(nowMs)
      if (nowMs - this.#checkedAtMs >= checkEveryMs) {
        this.#checkedAtMs = nowMs
        await this.#checkKeys()
        await this.#checkTables()
      }
      if (nowMs - this.#judgedAtMs >= judgeEveryMs) {
        this.#judgedAtMs = nowMs
        await this.#cutIdle()
      }
    } finally {
      this.#isTicking = false
    }
  }

  /** Ends streams that are too old, and breaks the silence of others. */
  async #tend(nowMs: number): Promise<void> {
    const clockMs = this.#now()
    let written = 0
    for (const [stream, { endsAtMs, endsAtClockMs }] of this.#streams) {
      const isOld = nowMs >= endsAtMs || clockMs >= endsAtClockMs
      if (!isOld && nowMs - stream.sentAtMs < streamSilenceMs) continue
      if (isOld) stream.end(tooOld())
      else stream.breakSilence()
      if (++written % streamsAtOnce === 0) await new Promise(setImmediate)
    }
  }

  /**
   * Ends the streams whose key or token is gone. Each of these is looked at once, and many at the same time: every stream may have
   * a user of its own, who is looked up again after each revocation.
   */
  async #checkKeys(): Promise<void> {
    const callerOf = ({ exchange }: ChangeStream): string | TokenUser => {
      const { id, user } = exchange.access.apiKey
      return user ?? id
    }
    const callers = [...Map.groupBy(this.#streams.keys(), callerOf).values()]
    for (let at = 0; at < callers.length; at += checksAtOnce) {
      const checks = callers.slice(at, at + checksAtOnce).map(async (streams) => {
        const refusal = await refusalOf(() => streams[0]!.exchange.authenticate())
        if (refusal !== undefined) for (const stream of streams) stream.end(refusal)
      })
      await Promise.all(checks)
    }
  }

  /** Ends the streams whose table is gone, or keeps no changes any more. */
  async #checkTables(): Promise<void> {
    for (const hub of [...this.#hubs.values()]) {
      const [stream] = hub.streams
      if (stream === undefined) continue
      const { exchange, input, feed } = stream
      const refusal = await refusalOf(async () => {
        const { id, changes } = (await openFeed(exchange.access, input, exchange.now())).reader.table
        const { table } = feed.reader
        if (id !== table.id || changes!.sinceMs !== table.changes!.sinceMs) throw cursorExpired()
      })
      if (refusal !== undefined) hub.endAll(refusal)
    }
  }

  /** Cuts the streams whose readers take nothing of what waits for them. */
  async #cutIdle(): Promise<void> {
    this.#forgetClosed()
    if (this.#streams.size === 0) return
    const queues = await readSendQueues()
    const nowMs = performance.now()
    for (const [stream, begun] of [...this.#streams]) {
      const queued = begun.peer === null ? 0 : queues(begun.peer)
      const takenBytes = stream.sentBytes - stream.passedBytes - queued
      if ((queued === 0 && !stream.isWaitingForReader) || takenBytes > begun.takenBytes) {
        begun.takenBytes = Math.max(takenBytes, begun.takenBytes)
        begun.takenAtMs = nowMs
      } else if (nowMs - begun.takenAtMs >= streamIdleMsMax) {
        this.#cutCount++
        this.#cut(stream)
      }
    }
  }

  #forgetClosed(): void {
    for (const request of this.#cutRequests) if (this.peerOf(request) === null) this.#cutRequests.delete(request)
  }

  #cut(stream: ChangeStream): void {
    const { request } = stream.exchange
    stream.cut()
    this.setIdleTimeout(request, cutIdleSeconds)
    this.#cutRequests.add(request)
  }
}

/** Undefined if it succeeds, or fails for a reason that may pass. */
export const refusalOf = async (check: () => Awaitable<void>): Promise<CubbyError | undefined> => {
  try {
    await check()
    return undefined
  } catch (error) {
    return error instanceof CubbyError && isLasting(error) ? error : undefined
  }
}
