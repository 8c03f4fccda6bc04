import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { FeedPlace } from '../../src/core/changes/changes-cursor.ts'
import { CubbyError } from '../../src/core/errors.ts'
import { streamIdleMsMax, streamMsMax, streamSilenceMs } from '../../src/core/limits.ts'
import { noRangeKey } from '../../src/core/records/record-key.ts'
import { Feeds } from '../../src/http/feeds.ts'
import { Turns } from '../../src/http/turns.ts'
import { UserWaits } from '../../src/http/user-waits.ts'
import type { Change } from '../../src/store/changes.ts'
import { eventually } from '../harness.ts'
import { type HeldClock, holdClock } from '../held-timers.ts'

// What streams of changes do when time passes, with a clock that only the test moves. The log is one of the test's own.

setDefaultTimeout(20_000)

const table = { id: 1, orgId: 1, changes: { keepHours: 24, sinceMs: 1 } }

class TestLog {
  readonly #changes: Change[] = []
  readonly #noted = new Set<(seq: number) => void>()

  /** How often entries were read, and up to which. */
  pages = 0
  readUpTo = 0

  head = () => ({ seq: this.#changes.length, mark: 0 })

  read = (_table: unknown, { after, hash, changesMax }: { after: number; hash?: string; changesMax: number }) => {
    const entries = this.#changes.slice(after, after + changesMax)
    if (changesMax > 0) this.pages++
    this.readUpTo = Math.max(this.readUpTo, after + entries.length)
    const changes = entries.filter((change) => hash === undefined || keyOf(change) === hash)
    return { changes, place: { seq: after + entries.length, mark: 0 }, head: this.head() }
  }

  follow = (_table: unknown, noted: (seq: number) => void) => {
    this.#noted.add(noted)
    return () => void this.#noted.delete(noted)
  }

  /** The delete of a record. */
  add(hashKey: string): void {
    const seq = this.#changes.length + 1
    this.#changes.push({
      seq,
      mark: 0,
      op: 'delete',
      key: { hashKey, rangeKey: noRangeKey },
      deletedAtMs: 1,
      isExpired: false,
    } as Change)
    for (const noted of this.#noted) noted(seq)
  }
}

const keyOf = (change: Change): string => (change.op === 'put' ? change.record : change.key).hashKey

let clock: HeldClock
let log: TestLog
let turns: Turns
let feeds: Feeds
let nowMs = 0
beforeEach(() => {
  clock = holdClock()
  log = new TestLog()
  turns = new Turns()
  nowMs = 1_000_000
  feeds = new Feeds(log as never, turns, new UserWaits(), { now: () => nowMs, log: () => {} })
})
afterEach(() => {
  feeds.stop()
  clock.release()
})

/** The user of a stream, and how the token is looked up. */
interface OfUser {
  user?: { shareSeq: number }
  authenticate?: () => Promise<void>
}

/** A stream of what comes from now on, or after an entry, with the text that its reader has taken. */
const open = async (hash?: string, after = log.head().seq, { user, authenticate }: OfUser = {}) => {
  const key = { id: 'k1', seq: 1 }
  const engine = { changes: log }
  /** The newest entry that each of its places knows of, by `after`. */
  const seen = new Map<number, number>()
  const cursors = {
    encode: (place: FeedPlace) => {
      seen.set(place.after, place.seen.seq)
      return `id-${place.after}`
    },
  }
  const reader = { engine, table, query: { hash, withData: true }, keySeq: key.seq }
  const exchange = {
    ...{ request: new Request('http://127.0.0.1/'), requestId: 'r', signal: new AbortController().signal, nowMs },
    // Whether the table is still there cannot be told for now.
    access: {
      apiKey: { ...key, orgId: 1, user },
      get engine(): never {
        throw new CubbyError('unavailable', 'The store cannot be read now.')
      },
    },
    authenticate: authenticate ?? (() => {}),
    turn: async () => {},
    now: () => nowMs,
  }
  const place = { after, seen: log.head() }
  const options = { exchange, input: { request: {} }, feed: { reader, cursors }, place }
  const body = await feeds.stream({ ...options, errorBody: ({ code }: CubbyError) => code } as never)
  const taking = body.getReader()
  const leave = () => taking.cancel()
  const stream = {
    text: '',
    end: undefined as string | undefined,
    take: async () => {},
    takeAll: () => {},
    leave,
    seen,
  }
  stream.take = async () => {
    const { value, done } = await taking.read().catch(() => ({ value: undefined, done: 'cut' }))
    if (value !== undefined) stream.text += new TextDecoder().decode(value)
    if (done !== false) stream.end = done === true ? 'whole' : 'cut'
  }
  stream.takeAll = async () => {
    while (stream.end === undefined) await stream.take()
  }
  return stream
}

/**
 * Moves the clock, and lets everything run that looks at it. Its times have fractions, so the difference of two may be a little
 * less than what it was moved by.
 */
const pass = async (ms: number): Promise<void> => {
  clock.move(ms)
  for (let turn = 0; turn < 10; turn++) await Bun.sleep(1)
}

const openTaking = async (hash?: string) => {
  const stream = await open(hash)
  stream.takeAll()
  await eventually('it is ready', () => stream.text.includes('ready') || undefined)
  /** What comes after what was there. */
  const after = async (expected: string): Promise<void> => {
    await eventually(JSON.stringify(expected), () => pass(0).then(() => stream.text !== '' || undefined), {
      waitMsMax: 10_000,
    })
    expect(stream.text).toBe(expected)
    stream.text = ''
  }
  stream.text = ''
  return { stream, after }
}

describe('a stream that begins', () => {
  test('gets what comes, though the last other stream of its table ends meanwhile', async () => {
    const { stream: earlier } = await openTaking()
    const { read } = log
    const [reading, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    log.read = ((...request: Parameters<typeof read>) => {
      reading.resolve()
      return held.promise.then(() => read(...request))
    }) as never
    const opening = open()
    await reading.promise
    await earlier.leave()
    log.read = read
    held.resolve()
    const stream = await opening
    stream.takeAll()
    log.add('a')
    await eventually('the change comes', () => stream.text.includes('event: delete') || undefined)
  })
})

test('streams of many users whose tokens have ended end together: none waits for the look-up of another', async () => {
  const [held, users] = [Promise.withResolvers<void>(), 40]
  let asked = 0
  const authenticate = (): Promise<void> => {
    asked++
    return held.promise
  }
  const streams = await Promise.all(
    Array.from({ length: users }, (_, shareSeq) => open(undefined, 0, { user: { shareSeq }, authenticate })),
  )
  for (const stream of streams) stream.takeAll()
  await pass(1_000)
  await eventually('all tokens are looked up', () => pass(0).then(() => asked === users || undefined))
  held.reject(new CubbyError('revoked_token', 'The user token has been revoked.'))
  for (const stream of streams) {
    await eventually('its end', () => pass(0).then(() => stream.text.includes('revoked_token') || undefined))
  }
})

/** Holds the next read of all streams of the table, with what it has found. */
const holdNextRead = (): { release(): void } => {
  const { read } = log
  const held = Promise.withResolvers<void>()
  log.read = ((...request: Parameters<typeof read>) => {
    const page = read(...request)
    if (request[1].changesMax === 0) return page
    log.read = read
    return held.promise.then(() => page)
  }) as never
  return { release: held.resolve }
}

describe('a stream that begins while the log is read for others', () => {
  test('reads itself what they do not want', async () => {
    const { stream: other } = await openTaking('a')
    const { release } = holdNextRead()
    log.add('b')
    await pass(0)
    const stream = await open(undefined, 0)
    stream.takeAll()
    await pass(0)
    release()
    await eventually('it is ready', () => stream.text.includes('ready') || undefined)
    expect(stream.text).toContain('event: delete\ndata: {"op":"delete","hashKey":"b","deletedAt":1}\nid: id-1\n\n')
    expect(other.text).toBe('')
  })

  test('and has seen more than that reads, has ids that say so', async () => {
    await openTaking()
    const { release } = holdNextRead()
    log.add('a')
    await pass(0)
    for (let n = 0; n < 4; n++) log.add(`b${n}`)
    const stream = await open(undefined, 0)
    stream.takeAll()
    await pass(0)
    release()
    await eventually('it is ready', () => stream.text.includes('ready') || undefined)
    expect([...stream.seen]).toEqual([1, 2, 3, 4, 5].map((after) => [after, 5]))
  })

  test('reads itself what is being given to them', async () => {
    for (let n = 0; n < 40; n++) await openTaking()
    const [giving, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let asked = 0
    // The first turn is for the read.
    Object.defineProperty(turns, 'isFree', { get: () => ++asked === 1, configurable: true })
    turns.wait = () => {
      giving.resolve()
      return held.promise as never
    }
    log.add('a')
    await giving.promise
    const stream = await open(undefined, 0)
    stream.takeAll()
    await pass(0)
    held.resolve()
    await eventually('it is ready', () => stream.text.includes('ready') || undefined)
    expect(stream.text).toContain('event: delete')
  })
})

describe('silence', () => {
  test('is broken by a comment, after each 15 s in which nothing was sent', async () => {
    const { stream, after } = await openTaking()
    await pass(streamSilenceMs - 1)
    expect(stream.text).toBe('')
    await pass(2)
    await after(':\n\n')
    await pass(streamSilenceMs - 1)
    expect(stream.text).toBe('')
    log.add('a')
    await after('event: delete\ndata: {"op":"delete","hashKey":"a","deletedAt":1}\nid: id-1\n\n')
    await pass(streamSilenceMs - 1)
    expect(stream.text).toBe('')
    await pass(2)
    await after(':\n\n')
  })

  test('is broken by an id alone if the place has moved on', async () => {
    const { stream, after } = await openTaking('mine')
    for (let n = 0; n < 3; n++) log.add('other')
    await eventually('the log was read', () => log.readUpTo === 3 || undefined)
    await pass(0)
    expect(stream.text).toBe('')
    await pass(streamSilenceMs + 1)
    await after('id: id-3\n\n')
    await pass(streamSilenceMs + 1)
    await after(':\n\n')
  })

  test('nothing is added for a reader that has not taken what there is', async () => {
    const stream = await open()
    for (let n = 0; n < 3; n++) await pass(streamSilenceMs / 5)
    const before = stream.text
    expect(before).toBe('')
    stream.takeAll()
    await eventually('it is ready', () => stream.text.includes('ready') || undefined)
    expect(stream.text).toMatch(/^retry: \d+\n\nevent: ready\ndata: \{\}\nid: id-0\n\n$/)
  })
})

describe('an hour', () => {
  for (const [name, move] of [
    ['of running', () => pass(streamMsMax + 1)],
    [
      "of the server's clock",
      async () => {
        nowMs += streamMsMax
        await pass(250)
      },
    ],
  ] as const) {
    test(`${name} ends a stream`, async () => {
      const { stream } = await openTaking()
      await move()
      await eventually('it ends', () => pass(0).then(() => stream.end))
      expect([stream.end, stream.text]).toEqual(['whole', 'event: end\ndata: unavailable\n\n'])
      expect(feeds.measures).toMatchObject({ streams: 0, waits: 0, cut: 0 })
    })
  }
})

describe('a reader that takes nothing of what waits for it', () => {
  const step = streamIdleMsMax / 4 + 1

  test('is cut after 10 s, without an end', async () => {
    const stream = await open()
    for (let n = 0; n < 4; n++) {
      expect(feeds.measures.streams).toBe(1)
      await pass(step)
    }
    await eventually('it is cut', async () => {
      await pass(step)
      return feeds.measures.cut === 1 || undefined
    })
    expect(feeds.measures).toMatchObject({ streams: 0, waits: 0 })
    while (stream.end === undefined) await stream.take()
    expect([stream.end, stream.text.includes('end')]).toEqual(['cut', false])
  })

  test('keeps a page at most: the next is read when it has taken that', async () => {
    const count = 2_000
    for (let n = 0; n < count; n++) log.add(`a${n}`)
    const stream = await open(undefined, 0)
    // The retry, and a piece of the first page.
    await stream.take()
    await stream.take()
    for (let n = 0; n < 5; n++) await pass(0)
    expect(log.pages).toBe(1)
    stream.takeAll()
    await eventually('it is ready', () => stream.text.includes('event: ready') || undefined)
    expect(stream.text.split('event: delete').length - 1).toBe(count)
  })

  test('is not cut while it takes something now and then, or nothing waits for it', async () => {
    const [slow, idle] = [await open(), await openTaking()]
    for (let n = 0; n < 20; n++) {
      log.add(`a${n}`)
      await slow.take()
      await pass(step)
    }
    expect(feeds.measures).toMatchObject({ streams: 2, cut: 0 })
    expect([slow.end, idle.stream.end]).toEqual([undefined, undefined])
  })
})
