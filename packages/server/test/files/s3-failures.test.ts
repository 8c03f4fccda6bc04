import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import type { CubbyError } from '../../src/core/errors.ts'
import { blobPath } from '../../src/core/files/blob-id.ts'
import type { Timing } from '../../src/files/blob-stores/s3/requests.ts'
import { openS3BlobStore } from '../../src/files/blob-stores/s3.ts'
import { BlobMissing, type BlobStore } from '../../src/store/blob-store.ts'
import { eventually, makeTempDir, removeTempDir } from '../harness.ts'
import { type HeldTimers, holdTimers } from '../held-timers.ts'
import { collect, digest, newId, putBlob } from './s3-blobs.ts'
import { type Fault, S3TestServer } from './s3-test-server.ts'

// S3 fails in all its ways. An upload must end as stored or as refused, a download as whole or as broken: a file that is cut
// or mixed without an error would be served as good.

setDefaultTimeout(120_000)

const timing: Partial<Timing> = { pauseMs: 5 }
const bytes = randomBytes(300_000)
/** The buffers of a connection hold less. */
const large = randomBytes(16_000_000)

let server: S3TestServer
let blobStore: BlobStore
let spoolDirectory = ''
let logged: unknown[][] = []

const open = (options: { timing?: Partial<Timing> } = {}): Promise<BlobStore> =>
  openS3BlobStore(`s3://${server.bucket}/pre`, server.env, (...line) => void logged.push(line), {
    spoolDirectory,
    timing: { ...timing, ...options.timing },
  })

beforeEach(async () => {
  logged = []
  spoolDirectory = makeTempDir()
  server = await S3TestServer.start()
  blobStore = await open()
  server.seen.length = 0
})
afterEach(async () => {
  // No secret in the log, whatever happened.
  expect(JSON.stringify(logged)).not.toContain(server.account.secretAccessKey)
  expect(readdirSync(spoolDirectory)).toEqual([])
  await blobStore.close()
  await server.stop()
  removeTempDir(spoolDirectory)
})

/** The error of the work; its texts have neither secrets nor the address. */
const errorOf = async (work: Promise<unknown>): Promise<{ code: string; cause: string }> => {
  const error = await work.then(
    () => undefined,
    (error: CubbyError) => error,
  )
  expect(error?.name).toBe('CubbyError')
  const texts = JSON.stringify([error!.message, error!.hint, error!.cause])
  for (const secret of Object.values(server.env).filter((value) => value !== server.account.region)) {
    expect(texts).not.toContain(secret)
  }
  return { code: error!.code, cause: String(error!.cause) }
}

const statuses = (method: string): number[] =>
  server.seen.filter((request) => request.method === method).map(({ status }) => status)

const until = (what: string, holds: () => boolean) => eventually(what, () => holds() || undefined)

/** The id of a stored blob. */
const store = (bytes: Buffer): string => {
  const id = newId()
  server.store(`pre/${blobPath(id)}`, bytes)
  return id
}

const fail = (...faults: Fault[]): void => {
  server.faults.push(...faults)
}

describe('a failure that may pass is tried again', () => {
  test.each([500, 502, 503, 504, 429])('%d, then success: PUT, GET, HEAD, DELETE', async (status) => {
    for (const method of ['PUT', 'GET', 'HEAD', 'DELETE']) fail({ method, answer: { status, code: 'SlowDown' } })
    const id = await putBlob(blobStore, bytes)
    expect(digest(await collect(await blobStore.read(id, 0, bytes.length)))).toBe(digest(bytes))
    expect(await blobStore.size(id)).toBe(bytes.length)
    await blobStore.remove(id)
    expect(server.objects.size).toBe(0)
    for (const [method, good] of Object.entries({ PUT: 200, GET: 206, HEAD: 200, DELETE: 204 })) {
      expect(statuses(method)).toEqual([status, good])
    }
    expect(logged).toEqual([])
  })

  test('a PUT whose connection is reset in the middle sends all bytes again', async () => {
    fail({ method: 'PUT', resetAfterBodyBytes: 100_000 }, { method: 'PUT', resetAfterBodyBytes: 0 })
    const id = await putBlob(blobStore, bytes)
    expect(statuses('PUT')).toEqual([0, 0, 200])
    expect(digest(await collect(await blobStore.read(id, 0, bytes.length)))).toBe(digest(bytes))
  })

  test('a GET that ends before its first byte is sent again', async () => {
    const id = await putBlob(blobStore, bytes)
    fail({ method: 'GET', sendBytes: 0, reset: true }, { method: 'GET', sendBytes: 0 })
    expect(digest(await collect(await blobStore.read(id, 0, bytes.length)))).toBe(digest(bytes))
    expect(statuses('GET')).toEqual([206, 206, 206])
  })

  test('a server that answers nothing is given up after its time, and asked again', async () => {
    const hasty = await open({ timing: { responseMsMax: 201, progressMsMax: 202, uploadResponseMsMax: 203 } })
    const timers = holdTimers(201, 202, 203)
    try {
      fail({ method: 'PUT', silent: true }, { method: 'HEAD', silent: true })
      const putting = putBlob(hasty, bytes)
      await until('the PUT has arrived', () => statuses('PUT').length === 1)
      timers.end()
      const size = hasty.size(await putting)
      await until('the HEAD has arrived', () => statuses('HEAD').length === 1)
      timers.end()
      expect(await size).toBe(bytes.length)
      expect([statuses('PUT'), statuses('HEAD')]).toEqual([
        [0, 200],
        [0, 200],
      ])
      await hasty.close()
    } finally {
      timers.release()
    }
  })

  test('after four attempts it is unavailable, and the log has the cause, once', async () => {
    fail({ method: 'PUT', times: 8, answer: { status: 503, code: 'SlowDown' } })
    const failed = { code: 'unavailable', cause: 'S3 answered PUT 503 SlowDown' }
    expect(await errorOf(putBlob(blobStore, bytes))).toEqual(failed)
    expect(await errorOf(putBlob(blobStore, bytes))).toEqual(failed)
    expect(statuses('PUT')).toEqual(Array(8).fill(503))
    expect(logged).toEqual([['error', 'a request to S3 failed', { place: blobStore.description, cause: failed.cause }]])
    expect(server.objects.size).toBe(0)
  })

  test('without a server it is unavailable', async () => {
    await server.stop()
    expect((await errorOf(blobStore.size(newId()))).code).toBe('unavailable')
    expect((await errorOf(putBlob(blobStore, bytes))).code).toBe('unavailable')
    server = await S3TestServer.start()
  })
})

describe('a failure that will not pass is reported at once', () => {
  test.each([
    [403, 'AccessDenied'],
    [400, 'InvalidRequest'],
    [404, 'NoSuchBucket'],
    [404, undefined],
    [307, 'TemporaryRedirect'],
    [301, 'PermanentRedirect'],
  ])('%d %s: unavailable, with one request each', async (status, code) => {
    const id = await putBlob(blobStore, bytes)
    server.seen.length = 0
    const answer = { status, code, headers: { Location: `${server.endpoint}/elsewhere` } }
    for (const method of ['PUT', 'GET', 'DELETE']) fail({ method, answer })
    for (const work of [() => putBlob(blobStore, bytes), () => blobStore.read(id, 0, 5), () => blobStore.remove(id)]) {
      const { code: refused, cause } = await errorOf(work())
      expect(refused).toBe('unavailable')
      expect(cause).toContain(`${status}`)
      expect(cause).toContain(code ?? '')
    }
    expect(server.seen.map((request) => request.status)).toEqual([status, status, status])
    expect(server.objects.size).toBe(1)
  })

  test.each([
    [507, 'XMinioStorageFull'],
    [403, 'QuotaExceeded'],
  ])('%d %s: storage_full', async (status, code) => {
    fail({ method: 'PUT', answer: { status, code } })
    expect((await errorOf(putBlob(blobStore, bytes))).code).toBe('storage_full')
  })

  test('bytes that are not those of the digest are not stored', async () => {
    const writer = await blobStore.write(newId())
    await writer.write(bytes)
    expect(await errorOf(writer.finish(digest(randomBytes(5))))).toEqual({
      code: 'unavailable',
      cause: 'S3 answered PUT 400 XAmzContentSHA256Mismatch',
    })
    expect(server.objects.size).toBe(0)
  })

  test('an answer that never ends is not read to its end', async () => {
    fail({ method: 'GET', answer: { status: 403, body: 'x'.repeat(1_000_000) } })
    expect((await errorOf(blobStore.readMark())).cause).toBe('S3 answered with a large body 403')
  })
})

describe('a download', () => {
  const readBroken = async (fault: Fault) => {
    const id = await putBlob(blobStore, bytes)
    fail(fault)
    const chunks: Uint8Array[] = []
    const failed = await errorOf(
      (async () => {
        for await (const chunk of await blobStore.read(id, 0, bytes.length)) chunks.push(chunk)
      })(),
    )
    const got = Buffer.concat(chunks)
    expect(bytes.subarray(0, got.length).equals(got)).toBe(true)
    return { ...failed, gotBytes: got.length }
  }

  test('that is reset in the middle ends with an error', async () => {
    const { code, gotBytes } = await readBroken({ method: 'GET', sendBytes: 100_000, reset: true })
    expect(code).toBe('unavailable')
    expect(gotBytes).toBeLessThanOrEqual(100_000)
  })

  test('that ends early ends with an error', async () => {
    const { code, gotBytes } = await readBroken({ method: 'GET', sendBytes: 100_000 })
    expect(code).toBe('unavailable')
    expect(gotBytes).toBeLessThanOrEqual(100_000)
  })

  test('of fewer bytes in an answer without a length ends with an error', async () => {
    const headers = { 'Content-Length': '', Connection: 'close' }
    const { cause } = await readBroken({ method: 'GET', sendBytes: 100_000, headers })
    expect(cause).toContain('200000 bytes too early')
  })

  test('that stops in the middle ends with an error after its time', async () => {
    const id = await putBlob(blobStore, bytes)
    blobStore = await open({ timing: { progressMsMax: 200 } })
    // The connection stays open, and nothing more comes.
    fail({ method: 'GET', headers: { 'Content-Range': `bytes 0-399999/400000`, 'Content-Length': '400000' } })
    const read = collect(await blobStore.read(id, 0, 400_000))
    expect((await errorOf(read)).cause).toBe('S3 made no progress for 200 ms')
  })

  test.each([
    ['another range', { 'Content-Range': 'bytes 1-300000/300001' }],
    ['a shorter range', { 'Content-Range': 'bytes 0-9/300000', 'Content-Length': '10' }],
    ['another length', { 'Content-Range': 'bytes 0-299999/300000', 'Content-Length': '299999' }],
    ['no range', { 'Content-Range': '' }],
  ])('with %s than was asked for gives out nothing', async (_, headers) => {
    const id = await putBlob(blobStore, bytes)
    fail({ method: 'GET', headers })
    expect((await errorOf(blobStore.read(id, 0, bytes.length))).cause).toMatch(/^S3 answered bytes=0-299999 with /)
  })

  test('of a server that ignores ranges gives out nothing, unless all bytes were asked for', async () => {
    const id = await putBlob(blobStore, bytes)
    const headers = { 'Content-Length': String(bytes.length) }
    const body = 'x'.repeat(bytes.length)
    fail({ method: 'GET', times: 2, answer: { status: 200, headers, body } })
    expect((await errorOf(blobStore.read(id, 5, 10))).code).toBe('unavailable')
    expect((await collect(await blobStore.read(id, 0, bytes.length))).toString()).toBe(body)
  })

  test('of more bytes than the blob has gives out nothing: they are lost, as they are for `size`', async () => {
    const id = await putBlob(blobStore, bytes)
    await expect(blobStore.read(id, 0, bytes.length + 1)).rejects.toThrow(BlobMissing)
    await expect(blobStore.read(id, bytes.length, bytes.length + 1)).rejects.toThrow(BlobMissing)
  })

  test('of one byte, the first', async () => {
    const id = await putBlob(blobStore, bytes)
    expect(await collect(await blobStore.read(id, 0, 1))).toEqual(bytes.subarray(0, 1))
  })

  test.each(['before it begins', 'after a chunk', 'while it waits'])(
    'that is cancelled %s ends its request',
    async (when) => {
      const id = store(large)
      if (when === 'while it waits') fail({ method: 'GET', headers: { 'Content-Length': '16000000' } })
      const chunks = (await blobStore.read(id, 0, 16_000_000)) as AsyncIterableIterator<Uint8Array>
      expect(server.sockets.size).toBeGreaterThan(0)
      if (when !== 'before it begins') await chunks.next()
      if (when === 'while it waits') {
        const waiting = (async () => {
          let last: IteratorResult<Uint8Array>
          do last = await chunks.next()
          while (!last.done)
          return last
        })()
        await chunks.return!()
        expect(await waiting).toEqual({ done: true, value: undefined })
      } else await chunks.return!()
      expect(await chunks.next()).toEqual({ done: true, value: undefined })
      await until('the connection is closed', () => server.sockets.size === 0)
    },
  )
})

// Otherwise readers that take nothing would hold all connections to S3, and memory.
describe('a slow reader', () => {
  const ranges = (): number[][] =>
    server.seen
      .filter(({ method }) => method === 'GET')
      .map(({ headers }) =>
        /^bytes=(\d+)-(\d+)$/
          .exec(new Headers(headers).get('range') ?? '')!
          .slice(1)
          .map(Number),
      )

  const readerPauseMsMax = 301
  let timers: HeldTimers
  beforeEach(async () => {
    blobStore = await open({ timing: { readerPauseMsMax } })
    server.seen.length = 0
    timers = holdTimers(readerPauseMsMax)
  })
  afterEach(() => timers.release())

  /** The reader takes nothing for too long. */
  const pause = async (): Promise<void> => {
    expect(timers.running).toBeGreaterThan(0)
    timers.end()
    await until('nothing is being sent', () => server.sending === 0)
  }

  test('that pauses loses its connection, and gets the right bytes when it goes on', async () => {
    const id = store(large)
    const chunks = (await blobStore.read(id, 3, 15_999_999)) as AsyncIterableIterator<Uint8Array>
    const got: Uint8Array[] = []
    // One part after the first pause, two after the second, and then eight.
    for (const pauses of [false, true, true, false, true]) {
      if (pauses) await pause()
      got.push((await chunks.next()).value)
    }
    for await (const chunk of chunks) got.push(chunk)
    expect(digest(Buffer.concat(got))).toBe(digest(large.subarray(3, 15_999_999)))
    const [first, ...parts] = ranges()
    expect(first).toEqual([3, 15_999_998])
    const rest = parts.at(-1)!
    // While it is slow, it asks for little at a time, and for nothing twice.
    expect(parts.slice(0, -1).every(([from, to]) => to! - from! < 262_144)).toBe(true)
    expect(parts.slice(1).map(([from]) => from)).toEqual(parts.slice(0, -1).map(([, to]) => to! + 1))
    // After eight parts without a pause, the rest is one request.
    expect(rest[1]).toBe(15_999_998)
    expect(parts).toHaveLength(1 + 2 + 8 + 1)
  })

  test('that never begins loses its connection', async () => {
    const id = store(large)
    const downloads = await Promise.all(Array.from({ length: 3 }, () => blobStore.read(id, 0, large.length)))
    await pause()
    for (const chunks of downloads) expect(digest(await collect(chunks))).toBe(digest(large))
  })

  test('that pauses at the very end gets its end', async () => {
    const id = store(large.subarray(0, 10))
    const chunks = (await blobStore.read(id, 0, 10)) as AsyncIterableIterator<Uint8Array>
    expect((await chunks.next()).value).toEqual(large.subarray(0, 10))
    await pause()
    expect(await chunks.next()).toEqual({ done: true, value: undefined })
    expect(ranges()).toHaveLength(1)
  })

  test('whose blob is gone when it goes on gets an error', async () => {
    const id = store(large)
    const chunks = (await blobStore.read(id, 0, large.length)) as AsyncIterableIterator<Uint8Array>
    await chunks.next()
    await blobStore.remove(id)
    await pause()
    expect((await errorOf(chunks.next())).cause).toBe('S3 answered GET 404 NoSuchKey')
    expect(await chunks.next()).toEqual({ done: true, value: undefined })
  })
})

describe('an upload', () => {
  test('that is given up while it is sent ends its request', async () => {
    fail({ method: 'PUT', silent: true })
    const writer = await blobStore.write(newId())
    await writer.write(bytes)
    const finishing = errorOf(writer.finish(digest(bytes)))
    await until('the PUT has arrived', () => server.seen.length === 1)
    await writer.abort()
    expect((await finishing).code).toBe('unavailable')
    await until('the connection is closed', () => server.sockets.size === 0)
    expect(server.seen).toHaveLength(1)
    // Nobody failed.
    expect(logged).toEqual([])
  })

  test('that is slow is not cut while bytes are taken', async () => {
    const progressMsMax = 701
    const patient = await open({ timing: { progressMsMax, attemptsMax: 1 } })
    const timers = holdTimers(progressMsMax)
    try {
      fail({ method: 'PUT', slowMs: 1 })
      const id = await putBlob(patient, large)
      // Its time begins again whenever some bytes are taken.
      expect(timers.begun).toBeGreaterThan(100)
      expect(await patient.size(id)).toBe(large.length)
      await patient.close()
      expect(timers.running).toBe(0)
    } finally {
      timers.release()
    }
  })

  test('has one PUT with its length and digest, not in chunks', async () => {
    const id = await putBlob(blobStore, bytes)
    const { headers, target } = server.seen[0]!
    const sent = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
    expect(server.seen).toHaveLength(1)
    expect(target).toBe(`/${server.bucket}/pre/${id.slice(0, 5)}/${id.slice(5, 7)}/${id}`)
    expect(sent).toMatchObject({ 'content-length': '300000', 'x-amz-content-sha256': digest(bytes) })
    expect(sent['transfer-encoding']).toBeUndefined()
  })

  test('after close: unavailable', async () => {
    await blobStore.close()
    expect((await errorOf(putBlob(blobStore, bytes))).code).toBe('unavailable')
  })
})

describe('the mark', () => {
  test.each([
    [403, 'AccessDenied'],
    [404, 'NoSuchBucket'],
    [404, undefined],
    [503, 'SlowDown'],
    [307, undefined],
  ])('%d %s is an error, never "no mark"', async (status, code) => {
    const answer = { status, code }
    fail({ method: 'GET', times: 8, answer })
    expect((await errorOf(blobStore.readMark())).code).toBe('unavailable')
    expect((await errorOf(blobStore.writeMark('mine'))).code).toBe('unavailable')
    expect(server.objects.size).toBe(0)
  })

  test('of another process that writes between our look and our write is kept', async () => {
    expect(await blobStore.writeMark('theirs')).toBe('theirs')
    fail({ method: 'GET', answer: { status: 404, code: 'NoSuchKey' } })
    expect(await blobStore.writeMark('ours')).toBe('theirs')
    expect(statuses('PUT')).toEqual([200, 412])
  })

  test('of ten processes at once is the same for all', async () => {
    const places = await Promise.all(Array.from({ length: 10 }, () => open()))
    const marks = await Promise.all(places.map((blobStore, i) => blobStore.writeMark(`mark-${i}`)))
    expect(new Set(marks).size).toBe(1)
    await Promise.all(places.map((blobStore) => blobStore.close()))
  })

  test.each(['refused', 'ignored'] as const)('is written although conditions are %s', async (conditions) => {
    await server.stop()
    server = await S3TestServer.start({ conditions })
    blobStore = await open()
    expect(await blobStore.writeMark('first')).toBe('first')
    expect(await blobStore.writeMark('second')).toBe('first')
  })
})

test('a blob that is gone: BlobMissing names it and the place, and is not logged', async () => {
  const id = newId()
  const error = await blobStore.read(id, 0, 5).catch((error) => error)
  expect(error).toBeInstanceOf(BlobMissing)
  expect(error.message).toBe(`the bytes of blob ${id} are not in s3://${server.bucket}/pre`)
  expect(logged).toEqual([])
})
