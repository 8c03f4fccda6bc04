import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { answerIdleSecondsMax, answersUnsentBytesMax } from '../../src/core/limits.ts'
import type { Answer } from '../answer.ts'
import { eventually } from '../harness.ts'
import { canReadMemory, watchMemory } from '../hostile/stage.ts'
import { ok, refused } from '../http/service.ts'
import { StreamServer } from './stream-server.ts'

// An answer that is made while it is sent: a client that reads slowly, or not at all, must not make the server hold what
// it has not taken.

setDefaultTimeout(120_000)

const mib = 1_048_576

let server: StreamServer
let key: string
beforeAll(async () => {
  server = await StreamServer.start()
  key = server.keys[0]![0]!
})
afterAll(() => server?.stop())

const download = async (kind: string): Promise<{ bytes: number; response: Response }> => {
  const response = await fetch(`${server.url}/streams/${kind}`, { headers: { authorization: `Bearer ${key}` } })
  let bytes = 0
  for await (const chunk of response.body!) bytes += chunk.length
  return { bytes, response }
}

/** A client that asks and does not read. */
const askUnread = (kind: string, withKey = key): Socket => {
  const socket = connect({ port: server.port, host: '127.0.0.1' })
  socket.pause()
  socket.on('error', () => {})
  socket.write(server.request('GET', `/streams/${kind}`, { key: withKey }))
  return socket
}

/** The answer, which is a short one. */
const ask = async (kind: string): Promise<Answer> => {
  const connection = await server.connect()
  connection.send(server.request('GET', `/streams/${kind}`, { key }))
  const answer = await connection.answer()
  connection.close()
  return answer
}

/** How many unread answers one key may have: a quarter of all, a piece of 256 KiB each. */
const atOnce = answersUnsentBytesMax / 4 / (256 * 1024)

describe('a streamed answer', () => {
  test('of known and of unknown length arrives whole', async () => {
    for (const kind of ['known', 'unknown']) {
      const { bytes, response } = await download(kind)
      expect({ kind, bytes }).toEqual({ kind, bytes: 4 * mib })
      expect(response.headers.get('content-type')).toBe('application/octet-stream')
    }
  })

  test('may come in empty chunks and in large ones', async () => {
    expect((await download('pieces')).bytes).toBe(7 * mib + 1)
  })

  test('to HEAD has no body, and its source is not started', async () => {
    const before = (await server.seen()).sourcesStarted
    const connection = await server.connect()
    for (const [kind, length] of [
      ['known', String(4 * mib)],
      ['unknown', null],
    ] as const) {
      connection.send(server.request('HEAD', `/streams/${kind}`, { key }))
      const { status, headers } = await connection.answer(true)
      expect({ status, length: headers.get('content-length') }).toEqual({ status: 200, length })
    }
    connection.send(server.request('GET', '/seen', { key }))
    expect(ok(await connection.answer()).sourcesStarted).toBe(before)
    connection.close()
  })

  test.skipIf(!canReadMemory)('of 200 MiB takes little memory, to a quick reader and to one that pauses', async () => {
    const { value, memory } = await watchMemory(server.pid, async () => {
      const unread = Array.from({ length: 8 }, () => askUnread('large'))
      const { bytes } = await download('large')
      for (const socket of unread) socket.destroy()
      return bytes
    })
    expect(value).toBe(200 * mib)
    expect(memory.peakBytes - memory.beforeBytes).toBeLessThan(64 * mib)
    await server.untilIdle()
  })
})

describe('an answer whose source', () => {
  const cutOff = (): number => server.stderr.split('answer cut off').length - 1

  test.each(['failing', 'short'])('is %s breaks the connection: a part is never taken for the whole', async (kind) => {
    const before = cutOff()
    const connection = await server.connect()
    connection.send(server.request('GET', `/streams/${kind}`, { key }))
    const failure = await connection.answer().then(
      () => 'answered',
      (error: Error) => error.message.slice(0, 44),
    )
    expect(failure).toBe('the connection ended before a whole answer: ')
    await eventually('the log says so', () => cutOff() === before + 1 || undefined)
    await server.untilIdle()
    // Only lines of the log: Bun prints some errors by itself.
    for (const line of server.stderr.split('\n').filter((text) => text !== ''))
      expect(JSON.parse(line).level).toBe('error')
  })

  test('makes its client wait holds nothing any more when the client has gone away', async () => {
    const unread = Array.from({ length: atOnce }, () => askUnread('waiting'))
    await eventually('all are asked', async () => (await server.seen()).sources === atOnce || undefined)
    refused(await ask('known'), 503, 'unavailable')
    for (const socket of unread) socket.destroy()
    // The sources keep sleeping for minutes; their room is free before that.
    await eventually('there is room', async () => (await download('known')).response.status === 200 || undefined)
  })
})

describe('what unread answers hold', () => {
  const own = async (): Promise<number> => (await server.seen()).sources

  test('is bounded for a key, another organization is served, and readers that stop are cut off', async () => {
    const before = await own()
    const startedAtMs = performance.now()
    const unread = Array.from({ length: atOnce }, () => askUnread('endless'))
    const closedAtMs = unread.map(
      (socket) => new Promise<number>((resolve) => socket.on('close', () => resolve(performance.now()))),
    )
    await eventually('all are sent', async () => (await own()) === before + atOnce || undefined)
    refused(await ask('known'), 503, 'unavailable')
    const other = await fetch(`${server.url}/streams/known`, {
      headers: { authorization: `Bearer ${server.keys[1]![0]!}` },
    })
    expect((await other.arrayBuffer()).byteLength).toBe(4 * mib)

    await eventually('all are cut off', async () => (await own()) === before || undefined, { waitMsMax: 60_000 })
    // A socket that is not read does not hear that the other side has closed it.
    for (const socket of unread) socket.resume()
    for (const at of await Promise.all(closedAtMs))
      expect(at - startedAtMs).toBeGreaterThan(answerIdleSecondsMax * 1000 - 1_000)
    expect((await download('known')).bytes).toBe(4 * mib)
  })

  test('is given back when readers go away', async () => {
    const before = await own()
    for (let n = 0; n < 3; n++) {
      const unread = Array.from({ length: atOnce }, () => askUnread('endless'))
      await eventually('all are sent', async () => (await own()) === before + atOnce || undefined)
      for (const socket of unread) socket.destroy()
      await eventually('all have ended', async () => (await own()) === before || undefined)
    }
    expect((await download('known')).bytes).toBe(4 * mib)
  })
})
