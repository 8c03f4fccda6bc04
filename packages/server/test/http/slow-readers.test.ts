import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { eventually } from '../harness.ts'
import { canRefuseToRead, openUnread } from '../hostile/unread.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { rawRequest } from '../raw-connection.ts'
import { makeBucket } from './bucket.ts'
import { useService } from './service.ts'

// Readers of a public file need no key. Without this, a few that read nearly nothing make all other files of its
// organization unavailable.

const service = useService({ args: metricsOn })
const mib = 1_048_576

const refusedFor = async (reason: string): Promise<number> =>
  sumOf(await scrape(service.server), 'cubby_file_downloads_refused_total', { reason }) ?? 0

/** Reads 64 KiB a second, of which a part waits in the system's buffers. */
const readSteadily = (target: string) => {
  const socket = connect(service.server.port, '127.0.0.1')
  const reader = { bytes: 0, isClosed: false, stop: () => void socket.destroy() }
  socket.on('data', ({ length }) => {
    reader.bytes += length
    socket.pause()
    setTimeout(() => socket.resume(), length / 64)
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    reader.isClosed = true
  })
  socket.write(rawRequest(service.server, 'GET', target))
  return reader
}

test.skipIf(!canRefuseToRead())(
  'readers that take nearly nothing are cut when the room is used up, the slowest first, and never a faster one',
  async () => {
    const bucket = await makeBucket(service.api)
    const isPublic = { query: { visibility: 'public' } }
    const big: string = (await bucket.put('big', new Uint8Array(20 * mib), isPublic)).url
    const other: string = (await bucket.put('other', new Uint8Array(100_000), isPublic)).url
    const target = big.slice(service.server.url.length)
    const steady = readSteadily(target)
    await eventually('it reads', () => steady.bytes > 0 || undefined)
    const statusOf = async (url: string): Promise<number> => {
      const response = await fetch(url)
      await response.arrayBuffer()
      return response.status
    }
    const request = rawRequest(service.server, 'GET', target)
    let opened = 0
    // One that begins needs more room than it has when it is stuck, so the room is used up when it stays so.
    await eventually('there is no room', async () => {
      await openUnread(service.server.port, 50, request)
      opened += 50
      for (let n = 0; n < 5; n++) {
        if ((await statusOf(other)) !== 503) return undefined
        await Bun.sleep(20)
      }
      return true
    })
    expect(await refusedFor('full')).toBeGreaterThan(0)
    let cut = 0
    await eventually('readers are cut, and another file is served', async () => {
      const status = await statusOf(other)
      cut = await refusedFor('slow')
      if (cut > 0) return status === 200 || undefined
      // Readers that have become stuck need less room than before: it was not used up.
      if (status === 200) {
        await openUnread(service.server.port, 50, request)
        opened += 50
      }
      return undefined
    })
    console.log(`slow readers: ${opened} opened, ${cut} cut before another file was served`)
    // Those that come get the room of others. Their paces are looked at once a second, and when the first one was cut, only a few
    // of the others may have been there for long enough to be judged.
    for (let n = 0; n < 10; n++) {
      const url = n % 2 === 0 ? other : `${big}?n=${n}`
      await eventually(`request ${n} is served`, async () => (await statusOf(url)) === 200 || undefined)
    }
    expect(steady.isClosed).toBe(false)
    const { bytes } = steady
    await eventually('the faster reader goes on', () => steady.bytes > bytes || undefined)
    steady.stop()
  },
)
