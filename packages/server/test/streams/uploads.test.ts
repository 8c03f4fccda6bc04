import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { bodyMsMax, bodyProgressBytesMin, bodyStreamBytes } from '../../src/core/limits.ts'
import type { ApiResponse } from '../api-response.ts'
import { eventually } from '../harness.ts'
import { canReadMemory, watchMemory } from '../hostile/stage.ts'
import { ok, refused } from '../http/service.ts'
import type { RawConnection } from '../raw-connection.ts'
import { StreamServer } from './stream-server.ts'

// A body that is read as a stream may be larger than the memory of the process. What arrives faster than it is read, and what
// never arrives, must cost no more than a fixed amount of it.

setDefaultTimeout(120_000)

const mib = 1_048_576
const part = Buffer.alloc(mib, 'x')
const declared = (bytes: number): [string, string][] => [['Content-Length', String(bytes)]]

let server: StreamServer
let key: string
beforeAll(async () => {
  server = await StreamServer.start()
  key = server.keys[0]![0]!
})
afterAll(async () => {
  await server?.stop()
})

const begin = async (kind: string, headers: [string, string][], withKey = key): Promise<RawConnection> => {
  const connection = await server.connect(90_000)
  connection.send(server.request('PUT', `/streams/${kind}`, { key: withKey, headers }))
  return connection
}

describe.each(['count', 'slow'])('an upload of 200 MiB to a reader that is "%s"', (kind) => {
  test.skipIf(!canReadMemory)('arrives whole and takes little memory', async () => {
    const total = 200 * mib
    const sha256 = createHash('sha256')
    for (let sent = 0; sent < total; sent += mib) sha256.update(part)
    const expected = { bytes: total, sha256: sha256.digest('hex') }
    const { memory } = await watchMemory(server.pid, async () => {
      const connection = await begin(kind, declared(total))
      for (let sent = 0; sent < total; sent += mib) connection.send(part)
      expect(ok(await connection.answer())).toEqual(expected)
      connection.close()
    })
    expect(memory.peakBytes - memory.beforeBytes).toBeLessThan(64 * mib)
  })
})

test('an empty body is a stream without chunks', async () => {
  const connection = await begin('count', declared(0))
  expect(ok(await connection.answer()).bytes).toBe(0)
  connection.send(server.request('PUT', '/streams/count', { key }))
  expect(ok(await connection.answer()).bytes).toBe(0)
  connection.close()
})

describe('a refusal', () => {
  /** The answer comes, and the connection is fit for the next request. */
  const expectRefusedThenServed = async (kind: string, status: number, code: string): Promise<void> => {
    const connection = await begin(kind, declared(8 * mib))
    for (let n = 0; n < 8; n++) connection.send(part)
    refused(await connection.answer(), status, code)
    connection.send(server.request('PUT', '/streams/count', { key, body: 'next' }))
    expect(ok(await connection.answer()).bytes).toBe(4)
    connection.close()
  }

  test('before the body is read is answered properly', () => expectRefusedThenServed('refused', 404, 'table_not_found'))

  test('of a body over the limit of its route is 413', () => expectRefusedThenServed('small', 413, 'body_too_large'))

  test('of a declared length over the limit does not wait for the body', async () => {
    const connection = await begin('small', declared(100_001))
    refused(await connection.answer(), 413, 'body_too_large')
    connection.close()
  })

  test('a handler that stops reading answers, and the connection is fit for the next request', async () => {
    const connection = await begin('left', declared(32 * mib))
    for (let n = 0; n < 32; n++) connection.send(part)
    ok(await connection.answer())
    connection.send(server.request('PUT', '/streams/count', { key, body: 'next' }))
    expect(ok(await connection.answer()).bytes).toBe(4)
    connection.close()
  })

  // Bun parses chunks ahead of us, and those that it has joined cannot be counted: a body in chunks of one byte, read as a
  // stream, kept everybody else waiting for seconds.
  test('of a body without a length comes before it is read', async () => {
    await server.untilIdle()
    const before = await server.seen()
    const connection = await begin('count', [['Transfer-Encoding', 'chunked']])
    connection.send('1\r\nx\r\n')
    const refusal = refused(await connection.answer(), 400, 'invalid_request')
    expect(refusal.message).toContain('Content-Length')
    connection.close()
    expect(await server.seen()).toEqual(before)
  })
})

test('a key that is revoked while the body arrives is refused when it has arrived', async () => {
  const made = (await server.fetch('POST', '/api/keys', key, '{"kind":"secret"}')).body
  const connection = await begin('count', declared(2 * mib), made.key)
  connection.send(part)
  await eventually('the upload is read', async () => (await server.seen()).uploads > 0 || undefined)
  expect((await server.fetch('DELETE', `/api/keys/${made.id}`, key)).status).toBe(200)
  connection.send(part)
  refused(await connection.answer(), 403, 'revoked_api_key')
  connection.close()
  // The handler itself saw it, before it could make anything of the body.
  expect((await server.seen()).faults).toContain('revoked_api_key')
})

describe('what uploads hold', () => {
  const atOnce = (128 * mib) / 4 / bodyStreamBytes

  const expectAllRoom = (): Promise<true> =>
    eventually('all of the room of one key', async () => {
      const open = await Promise.all(Array.from({ length: atOnce }, () => begin('count', declared(mib))))
      for (const connection of open) connection.send(part)
      const answers = await Promise.all(open.map((connection) => connection.answer()))
      for (const connection of open) connection.close()
      return answers.every(({ status }) => status === 200) || undefined
    })

  const untilWorking = (count: number): Promise<true> =>
    eventually('all bodies are read', async () => (await server.seen()).working === count || undefined)

  test('is bounded for a key, and another key and organization are served', async () => {
    const open = await Promise.all(Array.from({ length: atOnce }, () => begin('count', declared(mib))))
    await eventually('all are read', async () => (await server.seen()).uploads === atOnce || undefined)
    const refusal = await begin('count', declared(mib))
    refused(await refusal.answer(), 503, 'unavailable')
    refusal.close()
    // Their own small bodies are still read, and so are the bodies of others, of any size.
    expect((await server.fetch('POST', '/v1/app/own', key)).status).toBe(201)
    for (const other of [server.keys[0]![1]!, server.keys[1]![0]!]) {
      expect((await server.fetch('PUT', '/streams/count', other, Buffer.alloc(20 * mib))).status).toBe(200)
    }
    for (const connection of open) connection.send(part)
    for (const connection of open) {
      expect(ok(await connection.answer()).bytes).toBe(mib)
      connection.close()
    }
    await expectAllRoom()
  })

  test('is given back at the end of the body, also while the handler works on', async () => {
    const open: RawConnection[] = []
    const answers: Promise<ApiResponse>[] = []
    // The second round finds room only if the first, which is at work, has given back its own.
    for (const count of [atOnce, 2 * atOnce]) {
      while (open.length < count) {
        const connection = await begin('working', declared(4))
        connection.send('work')
        open.push(connection)
        answers.push(connection.answer())
      }
      // An upload that found no room would be answered at once.
      const isAnswered = Promise.race([Promise.race(answers).then(() => true), untilWorking(count).then(() => false)])
      expect(await isAnswered).toBe(false)
    }
    expect((await server.fetch('PUT', '/streams/finish', key, 'x')).status).toBe(200)
    for (const answer of answers) expect(ok(await answer).bytes).toBe(4)
    for (const connection of open) connection.close()
  })

  test('is given back when senders go away, and the handler is told', async () => {
    const before = (await server.seen()).faults.length
    const times = 3
    for (let n = 0; n < times; n++) {
      const open = await Promise.all(Array.from({ length: atOnce }, () => begin('count', declared(8 * mib))))
      for (const connection of open) connection.send(part)
      await eventually('all are read', async () => (await server.seen()).uploads === atOnce || undefined)
      for (const connection of open) connection.close()
      await server.untilIdle()
    }
    const { faults } = await server.seen()
    expect(faults.slice(before).filter((code) => code === 'invalid_request').length).toBe(times * atOnce)
    await expectAllRoom()
  })
})

/** Sends so many bytes, and waits until the server has read them. */
const send = async (connection: RawConnection, bytes: number): Promise<void> => {
  const before = (await server.seen()).bytes
  connection.send(part.subarray(0, bytes))
  await eventually('they are read', async () => (await server.seen()).bytes === before + bytes || undefined)
}

test('a sender that stops, or sends next to nothing, is given up with 503, and its connection is closed', async () => {
  const [silent, dripping, later] = [
    await begin('count', declared(mib)),
    await begin('count', declared(mib)),
    await begin('count', declared(mib)),
  ]
  await send(silent, 1)
  await send(dripping, 1)
  const expectGivenUp = async (connection: RawConnection): Promise<void> => {
    expect(refused(await connection.answer(), 503, 'unavailable').message).toContain('within 30 seconds')
    await connection.closed
  }
  let isLaterAnswered = false
  await server.moveClock(bodyMsMax / 2)
  // Half of the time later: it is not over when the time of the others is.
  await send(later, 1)
  await send(dripping, 1)
  await server.moveClock(bodyMsMax / 2)
  const answer = later.answer().finally(() => {
    isLaterAnswered = true
  })
  answer.catch(() => {})
  await expectGivenUp(silent)
  // It is told when more arrives: the time that was waited for so little is over.
  await server.moveClock(1)
  dripping.send('x')
  await expectGivenUp(dripping)
  expect(isLaterAnswered).toBe(false)
  await server.moveClock(bodyMsMax / 2)
  expect(refused(await answer, 503, 'unavailable').message).toContain('within 30 seconds')
  await later.closed
})

test('a sender that makes progress may take longer than that', async () => {
  const times = 8
  const connection = await begin('count', declared(times * bodyProgressBytesMin))
  for (let n = 0; n < times; n++) {
    await server.moveClock(bodyMsMax * 0.9)
    await send(connection, bodyProgressBytesMin)
  }
  expect(ok(await connection.answer()).bytes).toBe(times * bodyProgressBytesMin)
  connection.close()
})
