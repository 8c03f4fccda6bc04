import { expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { canReadMemory, watchMemory } from '../hostile/stage.ts'
import { rawRequest } from '../raw-connection.ts'
import { makeBucket } from './bucket.ts'
import { ok, useService } from './service.ts'

// Bytes are streamed both ways. If a file were held in memory, a few large ones would end the process.

setDefaultTimeout(600_000)

const service = useService({})
const mib = 1_048_576
const isFull = process.env.CUBBY_TEST_FILES === 'full'
const bytes = isFull ? 1_024 * mib : 128 * mib
const part = Buffer.alloc(mib, 'part of a file ')

/** Sends the file no faster than the server takes it. Resolves with the text of the answer. */
const upload = (target: string, chunked: boolean): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port: service.server.port, host: '127.0.0.1' })
    const length: [string, string] = chunked ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(bytes)]
    let sent = 0
    const send = (): void => {
      for (;;) {
        if (sent === bytes) {
          if (chunked) socket.write('0\r\n\r\n')
          return
        }
        sent += part.length
        const framed = chunked ? Buffer.concat([Buffer.from('100000\r\n'), part, Buffer.from('\r\n')]) : part
        if (!socket.write(framed)) {
          socket.once('drain', send)
          return
        }
      }
    }
    let text = ''
    socket.on('data', (data) => {
      text += data
      if (!text.includes('\r\n\r\n{')) return
      socket.destroy()
      resolve(text.slice(text.indexOf('{')))
    })
    socket.on('error', reject)
    socket.write(rawRequest(service.server, 'PUT', target, { key: service.api.key, headers: [length] }))
    send()
  })

const digest = (): string => {
  const hash = createHash('sha256')
  for (let sent = 0; sent < bytes; sent += part.length) hash.update(part)
  return hash.digest('hex')
}

test.skipIf(!canReadMemory)(`an upload and a download of ${bytes / mib} MiB take little memory`, async () => {
  const bucket = await makeBucket(service.api)
  const sha256 = digest()
  const { memory } = await watchMemory(service.server.pid, async () => {
    for (const chunked of [false, true]) {
      expect(JSON.parse(await upload(bucket.at('large'), chunked))).toMatchObject({ size: bytes, sha256 })
    }
    const hash = createHash('sha256')
    const response = await fetch(service.server.url + bucket.at('large'), {
      headers: { authorization: `Bearer ${service.api.key}` },
    })
    for await (const chunk of response.body!) hash.update(chunk)
    expect(hash.digest('hex')).toBe(sha256)
  })
  console.log(`memory: ${memory.beforeBytes / mib} MiB before, ${memory.peakBytes / mib} MiB at most`)
  expect(memory.peakBytes).toBeLessThan(100_000_000)
  ok(await bucket.delete('large'))
})
