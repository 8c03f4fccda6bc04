import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Peer, readSendQueues } from '../../src/http/send-queues.ts'
import { eventually } from '../harness.ts'

// The system holds megabytes for a client that does not read. Without knowing them, such a client looks like a quick one.

test('the queue of each connection, of IPv4, of IPv6, and of IPv4 on a socket of IPv6', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cubby-'))
  const [four, six] = [join(directory, 'tcp'), join(directory, 'tcp6')]
  const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
  const rest = '04:00000044 00000000     0        1 2996392 2 00000000df8452e0 20 4 31 16 -1\n'
  writeFileSync(
    four,
    `${head}   0: 0100007F:8763 0100007F:BA7A 01 0039AC00:00000000 ${rest}1974: 0100007F:8763 0201A8C0:0050 01 00000000:00000007 ${rest}`,
  )
  writeFileSync(
    six,
    `${head}   0: 0000000000000000FFFF00000100007F:9817 0000000000000000FFFF00000A01A8C0:99E2 01 00000010:00000000 ${rest}` +
      `   1: 00000000000000000000000001000000:9817 B80D0120000000000000000001000000:0051 01 00000020:00000000 ${rest}`,
  )
  const queueOf = await readSendQueues([four, six, join(directory, 'none')])
  expect(queueOf({ address: '127.0.0.1', port: 0xba7a, localPort: 0x8763 })).toBe(0x39ac00)
  expect(queueOf({ address: '::ffff:127.0.0.1', port: 0xba7a, localPort: 0x8763 })).toBe(0x39ac00)
  expect(queueOf({ address: '192.168.1.2', port: 80, localPort: 0x8763 })).toBe(0)
  expect(queueOf({ address: '::ffff:192.168.1.10', port: 0x99e2, localPort: 0x9817 })).toBe(0x10)
  expect(queueOf({ address: '2001:db8::1', port: 0x51, localPort: 0x9817 })).toBe(0x20)
  expect(queueOf({ address: '2001:db8:0:0:0:0:0:1', port: 0x51, localPort: 0x9817 })).toBe(0x20)
  expect(queueOf({ address: '2001:db8::2', port: 0x51, localPort: 0x9817 })).toBe(0)
  // The same port of the client, on a connection to another server.
  expect(queueOf({ address: '127.0.0.1', port: 0xba7a, localPort: 0x8764 })).toBe(0)
  rmSync(directory, { recursive: true })
})

test.skipIf(process.platform !== 'linux')('of a client that does not read', async () => {
  let peer: Peer | null = null
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, { requestIP }) {
      peer = { ...requestIP.call(server, request)!, localPort: server.port! }
      return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }))
    },
  })
  const socket = connect(server.port!, '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually('the system holds something', async () =>
    peer !== null && (await readSendQueues())(peer) > 0 ? true : undefined,
  )
  socket.destroy()
  await server.stop(true)
})
