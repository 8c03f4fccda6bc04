import { expect, test } from 'bun:test'
import { streamIdleMsMax } from '../../src/core/limits.ts'
import { eventually, socketsOf } from '../harness.ts'
import { canReadMemory, memoryBytes, mib, watchMemory } from '../hostile/stage.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { type EventStream, makeKept, openReady, openStream } from './event-stream.ts'
import { useService } from './service.ts'

// A reader that takes nothing would hold memory for as long as it likes. One that is only slow must get everything.

const service = useService({ args: metricsOn })

const stuckCount = 40
const recordCount = 80
const recordBytes = 400_000

const metric = async (name: string): Promise<number> => sumOf(await scrape(service.server), name) ?? 0

/** Sockets that the server has open, where that can be known. */
const socketCount = (): number => (canReadMemory ? socketsOf(service.server.pid) : 0)

/** Reads some 100 KB a second. */
const readSlowly = (stream: EventStream): Timer => {
  const { socket } = stream
  socket.on('data', () => void socket.pause())
  return setInterval(() => void socket.resume(), 500)
}

test('a reader that takes nothing is cut after 10 s, without an end; a slow one is not, and others go on', async () => {
  const table = await makeKept(service.api)
  const { key } = table.api
  const text = 'x'.repeat(recordBytes)
  for (let n = 0; n < recordCount; n++) await table.put(`large ${n}`, { text })
  const open = () => openStream(service.server, table.path, { key })
  // Their room is that of the key, so the others have another one.
  const live = await openReady(table, { key: service.reader.key })
  const slow = await openStream(service.server, table.path, { key: service.reader.key })
  const slowly = readSlowly(slow)
  const startedMs = performance.now()
  const sockets = socketCount()
  const { value: cutMs, memory } = await watchMemory(service.server.pid, async () => {
    const stuck = await Promise.all(Array.from({ length: stuckCount }, open))
    for (const { socket } of stuck) socket.pause()
    let puts = 0
    let firstCutMs = 0
    await eventually('all are cut', async () => {
      await table.put('live', { n: puts++ })
      await live.until('its put', () => live.events.length > puts)
      const cut = await metric('cubby_changes_cut_total')
      if (cut > 0 && firstCutMs === 0) firstCutMs = performance.now() - startedMs
      return cut === stuckCount || undefined
    })
    // The connections are closed, although nobody reads.
    await eventually('they are closed', () => socketCount() < sockets + stuckCount / 2 || undefined, {
      waitMsMax: 20_000,
    })
    for (const stream of stuck) {
      stream.socket.resume()
      await stream.ended()
      expect([stream.end, stream.events.some(({ event }) => event === 'end')]).toEqual(['cut', false])
      expect(stream.events.length).toBeLessThan(recordCount)
    }
    return firstCutMs
  })
  const grownMib = Math.round((memory.peakBytes - memory.beforeBytes) / mib)
  const waitingMib = Math.round((stuckCount * recordCount * recordBytes) / mib)
  console.log(
    `${stuckCount} readers were cut after ${Math.round(cutMs)} ms; ${waitingMib} MiB were for them, memory grew by ${grownMib} MiB`,
  )
  expect(cutMs).toBeGreaterThanOrEqual(streamIdleMsMax)
  if (canReadMemory) expect(grownMib).toBeLessThan(waitingMib / 5)
  // What a reader has not taken is not kept for it.
  expect(memoryBytes(service.server.pid)).toBeLessThan(memory.beforeBytes + (waitingMib / 5) * mib)
  expect([slow.end, live.end]).toEqual([undefined, undefined])
  clearInterval(slowly)
  slow.close()
  live.close()
  await eventually('nothing is left', async () => {
    const left = (await metric('cubby_changes_streams')) + (await metric('cubby_http_requests_in_flight'))
    return left === 0 || undefined
  })
})

test('a slow reader gets everything, in order', async () => {
  const table = await makeKept(service.api)
  const text = 'y'.repeat(recordBytes)
  const stream = await openReady(table)
  const slowly = readSlowly(stream)
  // It falls behind what the system and the server hold for it, and then reads the log itself.
  const count = 80
  for (let n = 0; n < count; n++) await table.put(`k${n}`, { n, text })
  const slow = stream.events.length
  clearInterval(slowly)
  stream.socket.resume()
  const fast = setInterval(() => void stream.socket.resume(), 1)
  await stream.until('the last', () => stream.events.length === count + 1)
  clearInterval(fast)
  expect(stream.events.slice(1).map(({ data }) => JSON.parse(data!).data.n)).toEqual(
    Array.from({ length: count }, (_, n) => n),
  )
  console.log(`it had ${slow} of ${count + 1} events when all were written`)
  stream.close()
})
