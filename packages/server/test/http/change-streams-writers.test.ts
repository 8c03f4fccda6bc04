import { expect, test } from 'bun:test'
import { eventually, type Json } from '../harness.ts'
import { type EventStream, makeKept, openReady, openStream } from './event-stream.ts'
import { type TestTable, useService } from './service.ts'

// Streams that begin while others write: a reader that trusts its stream must not lack a change, or take an old version for the
// last one.

const service = useService()

const open = (table: TestTable, body?: Json): Promise<EventStream> =>
  openStream(service.server, table.path, { key: table.api.key, body })

/**
 * Puts records until it is stopped, each with the next number. `begun` are those that were sent, `acknowledged` has the number of
 * each that was answered.
 */
const writeTo = (table: TestTable, keyOf: (writer: number, n: number) => string) => {
  const begun = new Set<string>()
  const acknowledged = new Map<string, number>()
  let isOver = false
  let count = 0
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let n = 1; !isOver; n++) {
      const key = keyOf(writer, n)
      begun.add(key)
      await table.put(key, { n })
      acknowledged.set(key, n)
      count++
    }
  })
  return {
    begun,
    acknowledged,
    /** Resolves after some more puts. */
    async some(more: number): Promise<void> {
      const wanted = count + more
      await eventually('more puts', () => count >= wanted || undefined, { pauseMs: 1 })
    },
    async stop(): Promise<void> {
      isOver = true
      await Promise.all(writers)
    },
  }
}

const untilPut = (stream: EventStream, hashKey: string): Promise<void> =>
  stream.until(`the put of ${hashKey}`, () =>
    stream.events.some(({ data }) => data!.includes(`"hashKey":"${hashKey}"`)),
  )

test('every stream gets the last version of every record, and ready once, after all that was there', async () => {
  const table = await makeKept(service.api)
  const writing = writeTo(table, (writer, n) => `w${writer}-${n % 10}`)
  const streams: { stream: EventStream; before: Map<string, number> }[] = []
  for (let n = 0; n < 20; n++) {
    const before = new Map(writing.acknowledged)
    streams.push({ stream: await open(table), before })
    await writing.some(10)
  }
  await writing.stop()
  await table.put('end')
  for (const { stream, before } of streams) {
    await untilPut(stream, 'end')
    const seen = new Map<string, number>()
    let isReady = false
    for (const { event, data } of stream.events) {
      const { hashKey, data: json }: Json = JSON.parse(data!)
      if (event === 'ready') {
        expect(isReady).toBe(false)
        isReady = true
        for (const [key, n] of before) expect([key, (seen.get(key) ?? 0) >= n]).toEqual([key, true])
      } else if (hashKey !== 'end') {
        // Versions never go back. Before ready a change may come that the walk has brought; afterwards nothing comes twice.
        expect(json.n).toBeGreaterThanOrEqual((seen.get(hashKey) ?? 0) + (isReady ? 1 : 0))
        seen.set(hashKey, json.n)
      }
    }
    expect([isReady, Object.fromEntries(seen)]).toEqual([true, Object.fromEntries(writing.acknowledged)])
    stream.close()
  }
})

test('one that begins while the log is read for others, who want less of it, misses nothing', async () => {
  const table = await makeKept(service.api)
  const writing = writeTo(table, (writer, n) => `w${writer}-${n}`)
  for (let round = 0; round < 40; round++) {
    // The only one, so that the log is read for its hash key and without data.
    const body = { from: 'now', hash: 'other', select: 'keys' }
    const other = await open(table, body)
    await other.untilReady()
    await writing.some(5)
    const stream = await openReady(table)
    const before = new Set(writing.begun)
    await writing.some(5)
    const acknowledged = [...writing.acknowledged].filter(([key]) => !before.has(key))
    await table.put(`end ${round}`)
    await untilPut(stream, `end ${round}`)
    const counts = new Map<string, number>()
    for (const { event, data } of stream.events) {
      // What was committed while it began comes before ready.
      if (event === 'ready') continue
      const { hashKey, data: json }: Json = JSON.parse(data!)
      counts.set(hashKey, (counts.get(hashKey) ?? 0) + 1)
      expect(json).toBeDefined()
    }
    for (const [key] of acknowledged) expect([key, counts.get(key)]).toEqual([key, 1])
    other.close()
    stream.close()
  }
  await writing.stop()
})
