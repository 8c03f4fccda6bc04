import { expect, test } from 'bun:test'
import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { responsesUnsentBytesMax } from '../../src/core/limits.ts'
import { checkResponse, eventually, type Json, runCubby, startServer } from '../harness.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { makeBucket } from './bucket.ts'
import { createKey, ok, refused, useService } from './service.ts'

// Bytes that are gone or were changed although the record is there, and readers that do not read.

const service = useService({ args: metricsOn })

const request = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
  const response = await fetch(service.server.url + path, { headers, method })
  const text = await response.text()
  const isJson = text !== '' && response.headers.get('content-type') === 'application/json'
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** The blobs of the server, with their sizes. */
const blobs = ({ dataDir }: { dataDir: string }): { path: string; size: number }[] =>
  readdirSync(join(dataDir, 'files'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[0-9a-f]{32}$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => ({ path, size: statSync(path).size }))

const blobOf = (size: number, server = service.server): string => blobs(server).find((blob) => blob.size === size)!.path

/** Changes the byte in the middle. */
const flip = (path: string): void => {
  const descriptor = openSync(path, 'r+')
  writeSync(descriptor, Buffer.of(2), 0, 1, Math.floor(statSync(path).size / 2))
  closeSync(descriptor)
}

const logged = (message: string): Json[] => service.server.log.filter((entry) => entry.message === message)

const changed = 'the bytes of a file are not those that were uploaded'

const damagedDownloads = async (): Promise<number> =>
  sumOf(await scrape(service.server), 'cubby_file_downloads_refused_total', { reason: 'damaged' }) ?? 0

test('missing bytes: 500 store_damaged before the first byte, a line in the log; other files are served', async () => {
  const bucket = await makeBucket(service.api)
  const path = (name: string) => `/files/${bucket.created.id}/${name}`
  for (const size of [1_001, 100_003, 3_000_001]) {
    // Chunked: also the small one is in its own file.
    await bucket.put(`f${size}`, Buffer.alloc(size, 1), { query: { visibility: 'public' }, chunked: true })
  }
  for (const size of [1_001, 100_003, 3_000_001]) {
    rmSync(blobOf(size))
    const before = logged('the bytes of a file are missing').length
    for (const answer of [
      checkResponse(await request(path(`f${size}`))),
      await request(bucket.at(`f${size}`), { authorization: `Bearer ${service.org.secretKey}` }),
    ]) {
      const { hint } = refused(answer, 500, 'store_damaged')
      expect(hint).toContain('cubby verify')
      expect(hint).not.toContain('GET ')
    }
    await eventually('the log says so', () =>
      logged('the bytes of a file are missing').length === before + 2 ? true : undefined,
    )
    // HEAD reads no byte, and still agrees with GET.
    expect((await request(path(`f${size}`), {}, 'HEAD')).status).toBe(500)
    // The record needs no bytes.
    expect(ok(await bucket.record(`f${size}`)).size).toBe(size)
  }
  await bucket.put('whole', 'x', { query: { visibility: 'public' } })
  expect((await request(path('whole'))).text).toBe('x')
})

test('bytes that are too few: the same, never a shorter file', async () => {
  const bucket = await makeBucket(service.api)
  for (const size of [50_001, 2_000_003]) {
    await bucket.put(`f${size}`, Buffer.alloc(size, 1), { query: { visibility: 'public' } })
    truncateSync(blobOf(size), size - 1)
    const path = `/files/${bucket.created.id}/f${size}`
    refused(await request(path), 500, 'store_damaged')
    refused(await request(path, { range: 'bytes=-10' }), 500, 'store_damaged')
    expect((await request(path, {}, 'HEAD')).status).toBe(500)
  }
})

test('an empty file whose blob is gone is missing for GET and HEAD', async () => {
  const bucket = await makeBucket(service.api)
  await bucket.put('empty', '', { query: { visibility: 'public' }, chunked: true })
  const path = `/files/${bucket.created.id}/empty`
  expect((await request(path)).status).toBe(200)
  rmSync(blobOf(0))
  refused(await request(path), 500, 'store_damaged')
  expect((await request(path, {}, 'HEAD')).status).toBe(500)
})

/** The bytes that arrive before the answer ends, and whether it ends well. */
const receive = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(service.server.url + path, { headers })
  let bytes = 0
  try {
    for await (const chunk of response.body!) bytes += chunk.length
    return { status: response.status, bytes, isWhole: true }
  } catch {
    return { status: response.status, bytes, isWhole: false }
  }
}

// Without the comparison a disk that flips a bit makes the server serve other bytes with 200, under the digest of the right ones.
test('changed bytes: a whole file up to 1 MiB is 500 store_damaged, a longer one never ends; each is logged and counted', async () => {
  const bucket = await makeBucket(service.api)
  const authorization = `Bearer ${service.org.secretKey}`
  for (const size of [1_003, 100_005, 1_048_576, 1_048_577, 3_000_007]) {
    const name = `f${size}`
    await bucket.put(name, Buffer.alloc(size, 1), { query: { visibility: 'public' }, chunked: true })
    const { url } = ok(await service.api.post(`${bucket.path}/url`, { name, expiresIn: 60 }))
    const ways: [string, Record<string, string>][] = [
      [`/files/${bucket.created.id}/${name}`, {}],
      [url.slice(service.server.url.length), {}],
      [bucket.at(name), { authorization }],
    ]
    for (const [path, headers] of ways) {
      expect(await receive(path, headers)).toEqual({ status: 200, bytes: size, isWhole: true })
    }
    flip(blobOf(size))
    const before = { lines: logged(changed).length, counted: await damagedDownloads() }
    for (const [path, headers] of ways) {
      if (size <= 1_048_576) {
        const { hint } = refused(await request(path, headers), 500, 'store_damaged')
        expect(hint).toContain('cubby verify --bytes')
      } else {
        const { status, bytes, isWhole } = await receive(path, headers)
        expect({ status, isWhole }).toEqual({ status: 200, isWhole: false })
        expect(bytes).toBeLessThan(size)
      }
      // The length is right, and nobody reads all bytes for a HEAD or for a range.
      expect((await request(path, headers, 'HEAD')).status).toBe(200)
      expect((await request(path, { ...headers, range: 'bytes=1-' })).status).toBe(206)
    }
    await eventually('the log says so', () =>
      logged(changed).length === before.lines + ways.length ? true : undefined,
    )
    expect(await damagedDownloads()).toBe(before.counted + ways.length)
    expect(JSON.stringify(logged(changed))).not.toContain('signature')
    const out = join(service.server.dataDir, name)
    const { exitCode } = await runCubby([
      ...['files', 'get', bucket.path.split('/').at(-1)!, name, '--db', 'app', '--out', out],
      ...['--url', service.server.url, '--key', service.org.secretKey],
    ])
    expect({ size, exitCode, isLeft: existsSync(out) }).toEqual({ size, exitCode: 1, isLeft: false })
    // Put again, it is served again.
    await bucket.put(name, Buffer.alloc(size, 3), { query: { visibility: 'public' } })
    expect((await receive(ways[0]![0])).isWhole).toBe(true)
  }
})

test('changed bytes with --workers: every process refuses them', async () => {
  const server = await startServer({ args: ['--workers', '2'] })
  try {
    const bucket = await makeBucket(server.as((await server.createOrganization()).secretKey))
    await bucket.put('f', Buffer.alloc(70_001, 1))
    flip(blobOf(70_001, server))
    const headers = { authorization: `Bearer ${bucket.api.key}`, connection: 'close' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(server.url + bucket.at('f'), { headers })))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(500))
  } finally {
    await server.stop()
  }
})

/** The body of a chunked answer. */
const withoutFrames = (answer: Buffer): Buffer => {
  const pieces: Buffer[] = []
  let at = answer.indexOf('\r\n\r\n') + 4
  for (;;) {
    const lineEnd = answer.indexOf('\r\n', at)
    const length = Number.parseInt(answer.toString('latin1', at, lineEnd), 16)
    if (length === 0) return Buffer.concat(pieces)
    pieces.push(answer.subarray(lineEnd + 2, lineEnd + 2 + length))
    at = lineEnd + 2 + length + 2
  }
}

// The place overwrites the chunk that was sent before. If some of it were not sent yet, a reader would get bytes from elsewhere.
test('readers that pause get every byte in its place', async () => {
  const bucket = await makeBucket(service.api)
  const content = Buffer.from(Uint32Array.from({ length: 3 * 1024 * 1024 }, (_, i) => i).buffer)
  await bucket.put('f', content, { query: { visibility: 'public' } })
  const read = (pauseEvery: number): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: service.server.port, host: '127.0.0.1' })
      const received: Buffer[] = []
      let reads = 0
      socket.on('data', (data: Buffer) => {
        received.push(data)
        if (++reads % pauseEvery !== 0) return
        socket.pause()
        setTimeout(() => socket.resume(), 5)
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(Buffer.concat(received)))
      socket.write(`GET /files/${bucket.created.id}/f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    })
  const answers = await Promise.all([1, 2, 3, 5, 8, 1_000].map(read))
  for (const answer of answers) expect(withoutFrames(answer).equals(content)).toBe(true)
})

test('readers that do not read hold a bounded part of the server, by organization and key, and no bytes of others', async () => {
  // The system's buffers hold less.
  const largeBytes = 24 * 1024 * 1024
  const bucket = await makeBucket(service.api)
  await bucket.put('large', Buffer.alloc(largeBytes, 1))
  await bucket.put('middle', Buffer.alloc(1024 * 1024, 1))
  const urlOf = async (name: string, key: string): Promise<string> => {
    const { url } = ok(await service.server.as(key).post(`${bucket.path}/url`, { name }))
    return url.slice(service.server.url.length)
  }
  const [idle, busy] = [await createKey(service.api), await createKey(service.api)]
  const target = await urlOf('large', idle.key)
  const sockets: Socket[] = []
  const ask = (): Socket => {
    const socket = connect({ port: service.server.port, host: '127.0.0.1' })
    socket.pause()
    socket.on('error', () => {})
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
    return socket
  }
  const most = responsesUnsentBytesMax / 4 / (256 * 1024)
  for (let i = 0; i < most; i++) sockets.push(ask())
  await eventually('the key has no room', async () => {
    if ((await request(target)).status === 503) return true
    // The question itself had the last room.
    sockets.push(ask())
    return undefined
  })
  refused(await request(target), 503, 'unavailable')
  // Without room for all of it, a file of 1 MiB would be a stream; there is no room for that either.
  refused(await request(await urlOf('middle', idle.key)), 503, 'unavailable')
  expect((await request(await urlOf('middle', busy.key))).text.length).toBe(1024 * 1024)
  expect((await request(await urlOf('large', busy.key))).text.length).toBe(largeBytes)
  for (const socket of sockets) socket.destroy()
  await eventually('there is room again', async () => ((await request(target)).status === 200 ? true : undefined))
})
