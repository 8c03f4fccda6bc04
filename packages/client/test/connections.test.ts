import { afterEach, expect, test } from 'bun:test'
import { Cubby } from '../src/index.ts'
import { failureOf } from './fake-fetch.ts'

// The runtime's own fetch on real sockets: what it does on its own account must not undo the client's promises.

const servers: { stop: (force?: boolean) => unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.stop(true)
})

const tableAt = (url: string | URL, retries = 0) =>
  new Cubby({ url, key: `svc_live_${'0'.repeat(38)}`, retries }).db('app').table('orders')

/** Answers GET and keeps the connection; breaks it on every other request. `lines` has each request's first line. */
const breakingServer = () => {
  const lines: string[] = []
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket, bytes) => {
        const line = bytes.toString().split('\r\n')[0]!
        lines.push(line)
        if (line.startsWith('GET')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
        else socket.terminate()
      },
    },
  })
  servers.push(server)
  return { lines, url: `http://127.0.0.1:${server.port}` }
}

type AnyTable = ReturnType<typeof tableAt>
const writes: [string, (table: AnyTable) => Promise<unknown>][] = [
  ['save', (table) => table.save({ hashKey: 'a', data: {} })],
  ['remove', (table) => table.remove('a')],
  ['batch', (table) => table.batch([{ op: 'delete', hashKey: 'a' }])],
]

test.each(writes)('%s: a write whose kept connection breaks reaches the server once', async (_, write) => {
  const { lines, url } = breakingServer()
  const table = tableAt(url, 3)
  // Leaves a connection to be used again.
  await table.findOne('a')
  expect(await failureOf(write(table))).toMatchObject({ code: 'outcome_unknown', status: 0 })
  expect(lines.filter((line) => !line.startsWith('GET'))).toHaveLength(1)
})

test('a redirect is not followed: a query would be answered with a record', async () => {
  const seen: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      seen.push(`${request.method} ${new URL(request.url).pathname}`)
      return new URL(request.url).pathname.startsWith('/moved')
        ? Response.json({ items: [], count: 0, cursor: null })
        : Response.redirect('/moved', 302)
    },
  })
  servers.push(server)
  const table = tableAt(server.url)
  expect(await failureOf(table.query({ hash: 'a' }))).toMatchObject({ code: 'unavailable', status: 0 })
  expect(await failureOf(table.remove('a'))).toMatchObject({ code: 'outcome_unknown', status: 0 })
  expect(seen).toEqual(['POST /v1/app/orders/query', 'DELETE /v1/app/orders/a'])
})

/** Reads a request's body, and answers each one as `answer` says. */
const fileServer = (answer: (request: Request) => Response | Promise<Response>) => {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  servers.push(server)
  return new Cubby({ url: server.url, key: `svc_live_${'0'.repeat(38)}`, retries: 0 }).db('app').bucket('files')
}

/** Answers 413 to the head of a request, as the server does, and goes on to read what is sent. */
const earlyServer = () => {
  const body = '{"error":{"code":"file_too_large","message":"It is too large.","requestId":"r"}}'
  const server = Bun.listen<{ answered: boolean }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => {
        socket.data = { answered: false }
      },
      data: (socket) => {
        if (socket.data.answered) return
        socket.data.answered = true
        socket.write(`HTTP/1.1 413 Too Large\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      },
    },
  })
  servers.push(server)
  return new Cubby({ url: `http://127.0.0.1:${server.port}`, key: `svc_live_${'0'.repeat(38)}` })
    .db('app')
    .bucket('files')
}

const endless = () =>
  new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(1)
      controller.enqueue(new Uint8Array(65_536))
    },
  })

test.each([
  ['bytes', () => new Blob([new Uint8Array(50_000_000)])],
  ['a stream that never ends', endless],
])('put: an answer before %s are sent arrives as an error with its code', async (_, body) => {
  const error = await failureOf(earlyServer().put('a', body()))
  expect(error).toMatchObject({ code: 'file_too_large', status: 413 })
})

// Otherwise half a file would be stored as if it were the whole.
test('put: the request of a stream that fails never ends as if it were whole', async () => {
  const seen: string[] = []
  const bucket = fileServer(async (request) => {
    seen.push(await request.text().catch(() => 'cut off'))
    return Response.json({})
  })
  const failing = async function* () {
    yield 'the first half'
    await Bun.sleep(20)
    throw new Error('the disk is broken')
  }
  expect(await failureOf(bucket.put('a', failing()))).toMatchObject({ message: 'the disk is broken' })
  await Bun.sleep(50)
  expect(seen.filter((text) => text !== 'cut off')).toEqual([])
})

test('get: a signal that aborts after the head ends the download with its reason', async () => {
  const bucket = fileServer(() => new Response(endless()))
  const controller = new AbortController()
  const file = await bucket.get('a', { signal: controller.signal })
  const reason = new Error('enough')
  setTimeout(() => controller.abort(reason), 20)
  expect(await failureOf(file!.bytes())).toBe(reason as never)
})

test('get: a connection that breaks is an error, not a short file', async () => {
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it')
        setTimeout(() => socket.end(), 20)
      },
    },
  })
  servers.push(server)
  const cubby = new Cubby({ url: `http://127.0.0.1:${server.port}`, key: `svc_live_${'0'.repeat(38)}` })
  const file = await cubby.db('app').bucket('files').get('a')
  expect(await failureOf(file!.bytes())).toMatchObject({ code: 'unavailable', status: 0 })
})
