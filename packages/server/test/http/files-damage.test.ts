import { expect, test } from 'bun:test'
import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { answersUnsentBytesMax } from '../../src/core/limits.ts'
import { checkAnswer, eventually, type Json } from '../harness.ts'
import { makeBucket } from './bucket.ts'
import { createKey, ok, refused, useService } from './service.ts'

// Bytes that are gone although the record is there, and readers that do not read.

const service = useService({})

const request = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(service.server.url + path, { headers })
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** The blobs of the server, with their sizes. */
const blobs = (): { path: string; size: number }[] =>
  readdirSync(join(service.server.dataDir, 'files'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[0-9a-f]{32}$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => ({ path, size: statSync(path).size }))

const blobOf = (size: number): string => blobs().find((blob) => blob.size === size)!.path

const logged = (message: string): Json[] => service.server.log.filter((entry) => entry.message === message)

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
      checkAnswer(await request(path(`f${size}`))),
      await request(bucket.at(`f${size}`), { authorization: `Bearer ${service.org.secretKey}` }),
    ]) {
      const { hint } = refused(answer, 500, 'store_damaged')
      expect(hint).toContain('cubby verify')
      expect(hint).not.toContain('GET ')
    }
    await eventually('the log says so', () =>
      logged('the bytes of a file are missing').length === before + 2 ? true : undefined,
    )
    // What needs no bytes is answered.
    expect((await fetch(service.server.url + path(`f${size}`), { method: 'HEAD' })).status).toBe(200)
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
  }
})

test('readers that do not read hold a bounded part of the server, by organization and key, and no bytes of others', async () => {
  // More than the system's buffers hold.
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
  const most = answersUnsentBytesMax / 4 / (256 * 1024)
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
