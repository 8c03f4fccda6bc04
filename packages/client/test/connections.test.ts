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
