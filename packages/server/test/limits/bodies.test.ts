import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bodiesInFlightBytesMax, bodyMsMax } from '../../src/core/limits.ts'
import { eventually, type Server, startServer } from '../harness.ts'
import { makeTable, ok, refused, type TestTable } from '../http/service.ts'
import { asUser } from '../http/user.ts'
import { connectRaw, type RawConnection, rawRequest } from '../raw-connection.ts'
import { jumpMs } from './serve-moved.ts'

// Bodies are memory that strangers fill. Each is bounded, all of them together are, and so is the time one may take.

setDefaultTimeout(90_000)

const mib = 1_048_576

let server: Server
let table: TestTable
let endlessHead: Promise<void>
beforeAll(async () => {
  server = await startServer()
  table = await makeTable(server.as((await server.createOrganization()).secretKey))
  // It takes a while: begun here, looked at by the last test.
  endlessHead = sendEndlessHead()
})
afterAll(async () => {
  await server?.stop()
})

/** Resolves when the server has closed the connection. */
const sendEndlessHead = async (): Promise<void> => {
  const connection = await server.connect()
  connection.send(`GET /v1 HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`)
  const timer = setInterval(() => connection.send('X-More: 1\r\n'), 1_000)
  await connection.closed
  clearInterval(timer)
}

describe('bodies in flight are bounded in total', () => {
  const batchMax = 12 * mib
  const empty = '{"operations":[{"op":"delete","hashKey":"none"}]}'

  /** A batch of which the head and one byte have arrived. */
  const beginBatch = async (
    headers: [string, string][],
    first: string | Uint8Array,
    { key } = table.api,
  ): Promise<RawConnection> => {
    const connection = await server.connect()
    connection.send(rawRequest(server, 'POST', `${table.path}/batch`, { key, headers }))
    connection.send(first)
    return connection
  }

  const tryLargeBatch = (api = table.api) => api.post(`${table.path}/batch`, empty.padEnd(batchMax - 1))

  test('only received bytes count: declared lengths alone block nobody', async () => {
    const many = Math.floor((2 * bodiesInFlightBytesMax) / batchMax)
    const open = await Promise.all(
      Array.from({ length: many }, () => beginBatch([['Content-Length', String(batchMax)]], '{')),
    )
    for (let i = 0; i < 3; i++) ok(await tryLargeBatch())
    await table.put('small', { fits: true })
    ok(await table.get('small'))
    for (const connection of open) connection.close()
  })

  test('also with a declared length: one too many is 503, small ones work, and room is released', async () => {
    const open = await Promise.all(
      Array.from({ length: 7 }, () => beginBatch([['Content-Length', String(batchMax)]], '{')),
    )
    const answers = open.map((connection) => connection.answer())
    for (const answer of answers) answer.catch(() => {})
    const part = Buffer.alloc(mib, ' ')
    for (let sent = 0; sent < 11; sent++) for (const connection of open) connection.send(part)
    refused(await Promise.any(answers), 503, 'unavailable')
    await table.put('small', { fits: true })
    for (const connection of open) connection.close()
    await eventually('room for a large one', async () => ((await tryLargeBatch()).status === 200 ? true : undefined))
  })

  test('each user has a share like that of a key: who has used it up takes nothing from other users and the key', async () => {
    const grants = [{ db: table.db, table: table.name, can: 'write' }]
    const [ada, bob] = [await asUser(table.api, 'ada', grants), await asUser(table.api, 'bob', grants)]
    const open = await Promise.all(
      Array.from({ length: 7 }, () => beginBatch([['Content-Length', String(batchMax)]], '{', ada)),
    )
    const answers = open.map((connection) => connection.answer())
    for (const answer of answers) answer.catch(() => {})
    const part = Buffer.alloc(mib, ' ')
    for (let sent = 0; sent < 11; sent++) for (const connection of open) connection.send(part)
    refused(await Promise.any(answers), 503, 'unavailable')
    for (const api of [bob, table.api]) ok(await tryLargeBatch(api))
    for (const connection of open) connection.close()
    await eventually('room for a large one', async () => ((await tryLargeBatch(ada)).status === 200 ? true : undefined))
  })

  test('and where none is declared', async () => {
    const chunk = Buffer.concat([Buffer.from(`${mib.toString(16)}\r\n`), Buffer.alloc(mib, ' '), Buffer.from('\r\n')])
    const open = await Promise.all(
      Array.from({ length: 7 }, () => beginBatch([['Transfer-Encoding', 'chunked']], Buffer.alloc(0))),
    )
    const answers = open.map((connection) => connection.answer())
    for (const answer of answers) answer.catch(() => {})
    for (let sent = 0; sent < 11; sent++) for (const connection of open) connection.send(chunk)
    refused(await Promise.any(answers), 503, 'unavailable')
    await table.put('small', { fits: true })
    for (const connection of open) connection.close()
    await eventually('room for a large one', async () => ((await tryLargeBatch()).status === 200 ? true : undefined))
  })
})

describe('a body over its limit', () => {
  test('is 413 and leaves the connection fit for the next request', async () => {
    for (const [path, method, over] of [
      [table.path, 'PUT', mib + 1],
      [`${table.path}/batch`, 'POST', 12 * mib + 1],
    ] as const) {
      const connection = await server.connect()
      const body = Buffer.alloc(over, ' ')
      const put = { key: table.api.key, body: '{"hashKey":"next","data":{}}' }
      connection.send(rawRequest(server, method, path, { key: table.api.key, body }))
      refused(await connection.answer(), 413, 'body_too_large')
      connection.send(rawRequest(server, 'PUT', table.path, put))
      ok(await connection.answer())
      // The same in chunks.
      const headers: [string, string][] = [['Transfer-Encoding', 'chunked']]
      connection.send(rawRequest(server, method, path, { key: table.api.key, headers }))
      connection.send(Buffer.concat([Buffer.from(`${over.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]))
      refused(await connection.answer(), 413, 'body_too_large')
      connection.send(rawRequest(server, 'PUT', table.path, put))
      ok(await connection.answer())
      connection.close()
    }
  })

  test('under load: every sender hears 413, no connection breaks, others are served', async () => {
    const body = '{"hashKey":"large","data":{}}'.padEnd(2 * mib)
    const senders = Array.from({ length: 16 }, async () => {
      for (let i = 0; i < 6; i++) refused(await table.tryPut(body), 413, 'body_too_large')
    })
    const others = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; i < 25; i++) await table.put(`beside ${writer} ${i}`)
    })
    await Promise.all([...senders, ...others])
    refused(await table.get('large'), 404, 'record_not_found')
  })

  test.skipIf(!existsSync('/proc/self/status'))('is not kept in memory while it keeps arriving', async () => {
    const memory = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) * 1024
    const before = memory()
    const connection = await server.connect()
    const total = 200 * mib
    connection.send(
      rawRequest(server, 'PUT', table.path, { key: table.api.key, headers: [['Content-Length', String(total)]] }),
    )
    const part = Buffer.alloc(mib, ' ')
    for (let sent = 0; sent < total; sent += mib) connection.send(part)
    refused(await connection.answer(), 413, 'body_too_large')
    connection.send(rawRequest(server, 'GET', '/healthz'))
    // Behind all of the body, so all of it has been read.
    ok(await connection.answer())
    expect(memory() - before).toBeLessThan(100 * mib)
    connection.close()
  })
})

test('a body that takes longer than 30 s is given up with 503, and its connection is closed', async () => {
  // The clock of this server jumps: nobody waits half a minute.
  const moved = await startServer({ program: join(import.meta.dir, 'serve-moved.ts') })
  try {
    const table = await makeTable(moved.as((await moved.createOrganization()).secretKey))
    const begin = async (header: [string, string], drop: string) => {
      const connection = await connectRaw(moved.port, 80_000)
      connection.send(rawRequest(moved, 'PUT', table.path, { key: table.api.key, headers: [header] }))
      connection.send(drop)
      const sender = { connection, drop, isAnswered: false, answer: connection.answer() }
      const note = (): void => {
        sender.isAnswered = true
      }
      sender.answer.then(note, note)
      return sender
    }
    /** Requests on later connections are answered: by then the server has read what was sent on the earlier ones. */
    const untilRead = async (): Promise<void> => {
      for (let n = 0; n < 3; n++) ok(await moved.raw('GET', table.at('none'), { key: table.api.key }), 404)
    }
    const jump = async (): Promise<void> => {
      await untilRead()
      process.kill(moved.pid, 'SIGUSR2')
      await untilRead()
    }

    const declared: [string, string] = ['Content-Length', '1000']
    const chunked: [string, string] = ['Transfer-Encoding', 'chunked']
    expect([2 * jumpMs, 3 * jumpMs]).toEqual([bodyMsMax, 1.5 * bodyMsMax])
    const silent = [await begin(declared, '{'), await begin(chunked, '1\r\n{\r\n')]
    const dripping = [await begin(declared, ' '), await begin(chunked, '1\r\n \r\n')]
    await jump()
    // Half of the time later: it is not over when the time of the others is.
    const later = await begin(declared, '{')
    for (const { connection, drop } of dripping) connection.send(drop)
    await jump()
    for (const { answer, connection } of [...silent, ...dripping]) {
      expect(refused(await answer, 503, 'unavailable').message).toContain('30 seconds')
      await connection.closed
    }
    expect(later.isAnswered).toBe(false)
    await jump()
    refused(await later.answer, 503, 'unavailable')
    await later.connection.closed
    await table.put('afterwards')
  } finally {
    await moved.stop()
  }
})

test('a request whose head never ends is disconnected after the same time', async () => {
  await endlessHead
})
