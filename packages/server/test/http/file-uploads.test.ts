import { beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  fileBytesMax,
  fileIdleMsMax,
  uploadsMax,
  uploadsOfOrganizationMax,
  uploadsOfUrlMax,
} from '../../src/core/limits.ts'
import { type ApiResponse, eventually } from '../harness.ts'
import { sumOf } from '../metrics/exposition-rules.ts'
import { metricsOn, scrape } from '../metrics/scraping.ts'
import { connectRaw, type RawConnection, rawRequest } from '../raw-connection.ts'
import { type SlowSender, sendSlowly } from '../slow-sender.ts'
import { contentDigest, makeBucket, sha256, type TestBucket } from './bucket.ts'
import { createKey, freshName, ok, refused, useService } from './service.ts'

// Uploads on the wire: bodies that are cut, slow or unwanted. A client must get its answer while it is still sending, and an
// upload that fails must leave the file as it was.

const service = useService({ args: metricsOn })
let bucket: TestBucket
const kib = 1_024
const mib = 1_048_576
const part = Buffer.alloc(64 * kib, 'x')

const declared = (bytes: number): [string, string][] => [['Content-Length', String(bytes)]]
const chunkedHeader: [string, string][] = [['Transfer-Encoding', 'chunked']]
const chunk = (bytes: string | Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), Buffer.from(bytes as string), Buffer.from('\r\n')])
const lastChunk = '0\r\n\r\n'

/** Sends the head of an upload. */
const begin = async (
  target: string,
  headers: [string, string][],
  key = service.api.key,
  server = service.server,
): Promise<RawConnection> => {
  const connection = await connectRaw(server.port, 90_000)
  connection.send(rawRequest(server, 'PUT', target, { key, headers }))
  return connection
}

/** The connection can be used for the next request. */
const expectServed = async (connection: RawConnection, name: string): Promise<void> => {
  connection.send(rawRequest(service.server, 'PUT', bucket.at(name), { key: service.api.key, body: 'next' }))
  expect(ok(await connection.answer())).toMatchObject({ name, size: 4, sha256: sha256('next') })
  connection.close()
}

/** The bytes in the data directory that were not finished. */
const unfinished = (): string[] => {
  const all = readdirSync(join(service.server.dataDir, 'files'), { recursive: true }) as string[]
  return all.filter((name) => name.endsWith('.part'))
}

const refusedFor = async (reason: string): Promise<number> =>
  sumOf(await scrape(service.server), 'cubby_file_uploads_refused_total', { reason }) ?? 0

/** The short form of the last test is in streams/upload-bodies.test.ts. */
const isFull = process.env.CUBBY_TEST_FILES === 'full'

beforeAll(async () => {
  bucket = await makeBucket(service.api)
})

describe('Expect: 100-continue', () => {
  for (const body of ['with a length', 'chunked']) {
    test(`gets its 100, ${body}`, async () => {
      const name = freshName('expect')
      const isChunked = body === 'chunked'
      const headers: [string, string][] = [['Expect', '100-continue'], ...(isChunked ? chunkedHeader : declared(5))]
      const connection = await begin(bucket.at(name), headers)
      expect((await connection.answer()).status).toBe(100)
      connection.send(isChunked ? Buffer.concat([chunk('hello'), Buffer.from(lastChunk)]) : 'hello')
      expect(ok(await connection.answer())).toMatchObject({ name, size: 5 })
      connection.close()
    })
  }
})

describe('chunks', () => {
  test('of all sizes are stored in order', async () => {
    const name = freshName('chunks')
    const connection = await begin(bucket.at(name), chunkedHeader)
    const parts = ['a', 'bc', 'd'.repeat(70_000), 'e', 'f'.repeat(300_000), 'g'.repeat(5)]
    for (const text of parts) {
      connection.send(chunk(text))
      await Bun.sleep(5)
    }
    connection.send(lastChunk)
    const whole = parts.join('')
    expect(ok(await connection.answer())).toMatchObject({ size: whole.length, sha256: sha256(whole) })
    expect(await bucket.read(name)).toBe(whole)
    connection.close()
  })

  test('sent one by one, slower than the server reads, are stored too', async () => {
    const name = freshName('chunks')
    const connection = await begin(bucket.at(name), chunkedHeader)
    for (let n = 0; n < 300; n++) {
      connection.send(chunk(`${n},`))
      if (n % 50 === 0) await Bun.sleep(1)
    }
    connection.send(lastChunk)
    const whole = Array.from({ length: 300 }, (_, n) => `${n},`).join('')
    expect(ok(await connection.answer())).toMatchObject({ sha256: sha256(whole) })
    connection.close()
  })

  test('of one byte, very many of them, are refused with a hint, and the file stays as it was', async () => {
    const name = freshName('fine')
    await bucket.put(name, 'before')
    const { key } = await createKey(service.api)
    const connection = await begin(bucket.at(name), chunkedHeader, key)
    connection.send(`1\r\nx\r\n`.repeat(1_000_000) + lastChunk)
    const { hint } = refused(await connection.answer(), 400, 'invalid_request')
    expect(hint).toContain('larger chunks')
    await connection.closed
    expect(await bucket.read(name)).toBe('before')
    // For a moment further chunked uploads of this key wait, those with a length do not.
    refused(await bucket.tryPut(name, 'y', { chunked: true }, service.server.as(key)), 503, 'unavailable')
    ok(await bucket.tryPut(name, 'after', {}, service.server.as(key)))
    expect(await bucket.read(name)).toBe('after')
  })
})

describe('a refusal by the head comes while the body is still being sent, and the connection lives:', () => {
  const revoked = async (): Promise<string> => {
    const { id, key } = await createKey(service.api)
    ok(await service.api.delete(`/api/keys/${id}`))
    return key
  }
  const cases: {
    name: string
    status: number
    code: string
    headers?: [string, string][]
    key?: () => Promise<string> | string
    target?: () => string
  }[] = [
    { name: 'no key', status: 401, code: 'invalid_api_key', key: () => 'svc_live_x' },
    { name: 'a revoked key', status: 403, code: 'revoked_api_key', key: revoked },
    { name: 'a public key', status: 403, code: 'read_only_key', key: () => service.org.publicKey },
    { name: 'an invalid name', status: 400, code: 'invalid_key', target: () => `${bucket.path}/a/..` },
    { name: 'a form', status: 415, code: 'unsupported_media_type', headers: [['Content-Type', 'multipart/form-data']] },
    { name: 'an encoding', status: 415, code: 'unsupported_media_type', headers: [['Content-Encoding', 'gzip']] },
    { name: 'no bucket', status: 404, code: 'bucket_not_found', target: () => '/v1/app/_buckets/none/x' },
    { name: 'a condition', status: 412, code: 'precondition_failed', headers: [['If-Match', '"1"']] },
    { name: 'a parameter', status: 400, code: 'invalid_request', target: () => `${bucket.at('x')}?a=1` },
    { name: 'a digest', status: 400, code: 'invalid_request', headers: [['Content-Digest', 'md5=:AA==:']] },
  ]
  for (const { name, status, code, headers = [], key, target } of cases) {
    for (const isChunked of [false, true]) {
      test(`${name}: ${status}${isChunked ? ', chunked' : ''}`, async () => {
        const length = isChunked ? chunkedHeader : declared(8 * mib)
        const connection = await begin(target?.() ?? bucket.at('x'), [...length, ...headers], await key?.())
        const piece = isChunked ? chunk(part) : part
        connection.send(piece)
        const answer = await connection.answer()
        refused(answer, status, code)
        expect(answer.headers.get('connection')).not.toBe('close')
        // The rest is dropped as it arrives, and the next request on the connection is answered.
        for (let sent = part.length; sent < 8 * mib; sent += part.length) connection.send(piece)
        if (isChunked) connection.send(lastChunk)
        await expectServed(connection, freshName('next'))
      })
    }
  }

  test('a length above 5 GiB: 413 at once', async () => {
    const connection = await begin(bucket.at('large'), declared(fileBytesMax + 1))
    refused(await connection.answer(), 413, 'file_too_large')
    connection.close()
    const huge = await begin(bucket.at('large'), declared(Number.MAX_SAFE_INTEGER))
    refused(await huge.answer(), 413, 'file_too_large')
    huge.close()
    const allowed = await begin(bucket.at('large'), [...declared(fileBytesMax), ['If-Match', '"1"']])
    refused(await allowed.answer(), 412, 'precondition_failed')
    allowed.close()
  })

  test('chunks of one byte close the connection: the server does not parse millions of them for nothing', async () => {
    const connection = await connectRaw(service.server.port)
    const head = rawRequest(service.server, 'PUT', bucket.at('x'), {
      key: service.org.publicKey,
      headers: chunkedHeader,
    })
    // The body is sent in one piece: the server knows nothing of chunks that arrive after the answer.
    connection.send(Buffer.concat([head, Buffer.from(`1\r\nx\r\n`.repeat(100_000))]))
    const answer = await connection.answer()
    refused(answer, 403, 'read_only_key')
    await connection.closed
  })

  test('a few hundred such chunks are enough, also without a key; further requests get the same answer', async () => {
    const refusals: [target: string, key: string, status: number, code: string][] = [
      [bucket.at('x'), service.org.publicKey, 403, 'read_only_key'],
      [bucket.at('x'), 'svc_live_x', 401, 'invalid_api_key'],
      [`/files/${bucket.created.id}/x`, 'none', 404, 'file_not_found'],
      ['/files/bkt_0000000000000000000000/x', 'none', 404, 'file_not_found'],
    ]
    for (let round = 0; round < 2; round++) {
      for (const [target, key, status, code] of refusals) {
        const connection = await connectRaw(service.server.port)
        const head = rawRequest(service.server, 'PUT', target, { key, headers: chunkedHeader })
        connection.send(Buffer.concat([head, Buffer.from(`1\r\nx\r\n`.repeat(300))]))
        refused(await connection.answer(), status, code)
        await connection.closed
      }
    }
  })
})

describe('an upload that is interrupted', () => {
  for (const isChunked of [false, true]) {
    test(`by its sender leaves the previous file as it was${isChunked ? ', chunked' : ''}`, async () => {
      const name = freshName('cut')
      const before = await bucket.put(name, 'before')
      const others = unfinished()
      const connection = await begin(bucket.at(name), isChunked ? chunkedHeader : declared(mib))
      connection.send(isChunked ? chunk(part) : part)
      const written = await eventually('bytes are written', () => unfinished().find((one) => !others.includes(one)))
      connection.close()
      expect(ok(await bucket.record(name))).toEqual(before)
      await eventually('what was written is removed', () => !unfinished().includes(written) || undefined)
      expect(await bucket.read(name)).toBe('before')
    })
  }

  test('by a digest that does not match: no part of it is left', async () => {
    const others = unfinished()
    const headers = { 'content-digest': contentDigest('others') }
    refused(await bucket.tryPut('digest', 'bytes', { headers }), 400, 'digest_mismatch')
    expect(unfinished().filter((one) => !others.includes(one))).toEqual([])
  })

  test('is not seen by readers: they get the previous bytes until it is committed', async () => {
    const name = freshName('unseen')
    await bucket.put(name, 'before')
    const connection = await begin(bucket.at(name), declared(2 * part.length))
    connection.send(part)
    await Bun.sleep(50)
    expect(await bucket.read(name)).toBe('before')
    connection.send(part)
    expect(ok(await connection.answer()).size).toBe(2 * part.length)
    expect(await bucket.read(name)).toBe('x'.repeat(2 * part.length))
    connection.close()
  })
})

// A small body is read whole, a large one is streamed to its place.
describe.each([64 * kib, 5])('judged again when the body has arrived, of twice %p bytes:', (partBytes) => {
  const part = Buffer.alloc(partBytes, 'x')

  /** An upload whose first part has arrived. */
  const half = async (name: string, own: TestBucket, key?: string, more: [string, string][] = []) => {
    const connection = await begin(own.at(name), [...declared(2 * part.length), ...more], key)
    connection.send(part)
    await Bun.sleep(100)
    return { connection, rest: () => connection.send(part) }
  }

  test('a bucket deleted meanwhile is 404, also if another has its name', async () => {
    for (const isMadeAnew of [false, true]) {
      const own = await makeBucket(service.api)
      const { connection, rest } = await half('x', own)
      ok(await service.api.delete(own.path))
      if (isMadeAnew) ok(await service.api.post(own.path), 201)
      rest()
      const { hint } = refused(await connection.answer(), 404, 'bucket_not_found')
      expect(hint).toContain(own.path)
      if (isMadeAnew) expect(await own.names()).toEqual([])
      connection.close()
    }
  })

  test('of a bucket deleted meanwhile and a digest that does not match, the digest is told', async () => {
    const own = await makeBucket(service.api)
    const { connection, rest } = await half('x', own, undefined, [['Content-Digest', contentDigest('others')]])
    ok(await service.api.delete(own.path))
    rest()
    refused(await connection.answer(), 400, 'digest_mismatch')
    connection.close()
  })

  test('a bucket deleted and restored meanwhile has the file', async () => {
    const own = await makeBucket(service.api)
    const { connection, rest } = await half('x', own)
    ok(await service.api.delete(own.path))
    ok(await service.api.post(`${own.path}/restore`))
    rest()
    expect(ok(await connection.answer()).size).toBe(2 * part.length)
    expect(await own.names()).toEqual(['x'])
    connection.close()
  })

  test('a key revoked meanwhile is 403', async () => {
    const { id, key } = await createKey(service.api)
    const name = freshName('revoked')
    const { connection, rest } = await half(name, bucket, key)
    ok(await service.api.delete(`/api/keys/${id}`))
    rest()
    refused(await connection.answer(), 403, 'revoked_api_key')
    refused(await bucket.record(name), 404, 'file_not_found')
    connection.close()
  })

  test('a condition that no longer holds is 412', async () => {
    const name = freshName('condition')
    const { connection, rest } = await half(name, bucket, undefined, [['If-None-Match', '*']])
    await bucket.put(name, 'first')
    rest()
    refused(await connection.answer(), 412, 'precondition_failed')
    expect(await bucket.read(name)).toBe('first')
    connection.close()
  })

  test('of two uploads of one name, the later commit wins as a whole', async () => {
    const name = freshName('two')
    const [first, second] = [await half(name, bucket), await half(name, bucket)]
    second.rest()
    const earlier = ok(await second.connection.answer())
    first.connection.send('y'.repeat(part.length))
    const later = ok(await first.connection.answer())
    expect(later.updatedAt).toBeGreaterThan(earlier.updatedAt)
    expect(ok(await bucket.record(name))).toEqual(later)
    expect(await bucket.read(name)).toBe('x'.repeat(part.length) + 'y'.repeat(part.length))
    for (const { connection } of [first, second]) connection.close()
  })
})

describe('uploads at once', () => {
  test(`of one organization are at most ${uploadsOfOrganizationMax}; others are served, and room is free again`, async () => {
    const other = await makeBucket(service.stranger)
    const own = await service.server.createOrganization()
    const api = service.server.as(own.secretKey)
    const full = await makeBucket(api)
    const open: RawConnection[] = []
    for (let n = 0; n < uploadsOfOrganizationMax; n++) {
      const connection = await begin(full.at(`u${n}`), declared(4), api.key)
      connection.send('ab')
      open.push(connection)
    }
    const { message } = await eventually('there is no room', async () => {
      const answer = await full.tryPut('one more', 'x')
      return answer.status === 503 ? refused(answer, 503, 'unavailable') : undefined
    })
    expect(message).toContain('Too many uploads of this organization')
    // A request that its head decides needs no room. Reads and other organizations need none either.
    refused(await full.tryPut('x', 'x', { headers: { 'if-match': '"1"' } }), 412, 'precondition_failed')
    ok(await full.tryQuery())
    await other.put('x')
    for (const connection of open) connection.send('cd')
    for (const connection of open) {
      expect(ok(await connection.answer()).size).toBe(4)
      connection.close()
    }
    await eventually('there is room', async () => (await full.tryPut('one more', 'x')).status === 200 || undefined)
    // Senders that go away give their room back too.
    for (let round = 0; round < 2; round++) {
      const left = await Promise.all(
        Array.from({ length: uploadsOfOrganizationMax }, (_, n) => begin(full.at(`v${n}`), declared(4), api.key)),
      )
      for (const connection of left) connection.close()
    }
    await eventually('there is room', async () => (await full.tryPut('one more', 'x')).status === 200 || undefined)
  })

  test(`of all organizations are at most ${uploadsMax}; signed uploads count too`, async () => {
    const buckets = await Promise.all(
      Array.from({ length: 2 }, async () =>
        makeBucket(service.server.as((await service.server.createOrganization()).secretKey)),
      ),
    )
    const [first, second] = buckets as [TestBucket, TestBucket]
    const open: RawConnection[] = []
    const hold = async (target: string, key?: string): Promise<void> => {
      const connection = await connectRaw(service.server.port, 90_000)
      connection.send(rawRequest(service.server, 'PUT', target, { key, headers: declared(4) }))
      connection.send('ab')
      open.push(connection)
    }
    const urlOf = async (name: string): Promise<string> => {
      const { url } = ok(await second.api.post(`${second.path}/url`, { name, method: 'PUT' }))
      return url.slice(service.server.url.length)
    }
    const isFullFor = (put: () => ReturnType<TestBucket['tryPut']>, who: string) =>
      eventually(`there is no room ${who}`, async () => {
        const answer = await put()
        return answer.status === 503 && refused(answer, 503, 'unavailable').message.includes(who) ? true : undefined
      })
    // More than there is room for. Each organization has half of them, so that neither may take room from the other.
    const more = 4
    for (let n = 0; n < uploadsMax / 2; n++) await hold(first.at(`u${n}`), first.api.key)
    for (let n = uploadsMax / 2; n < uploadsMax + more; n++) await hold(await urlOf(`u${n}`))
    const statuses: number[] = []
    const answers = open.map(async (connection) => statuses.push((await connection.answer()).status))
    // Until then a slow server may not have read the last requests, and would find room for them after the others.
    await eventually('all others are refused', () => statuses.length === more || undefined)
    await isFullFor(() => second.tryPut('more', 'x'), 'on this server')
    const target = await urlOf('one more')
    refused(await service.server.raw('PUT', target, { body: 'x' }), 503, 'unavailable')
    for (const connection of open) connection.send('cd')
    await Promise.all(answers)
    for (const connection of open) connection.close()
    expect(statuses.filter((status) => status === 503)).toHaveLength(more)
    expect(statuses.filter((status) => status === 200)).toHaveLength(uploadsMax)
    await eventually('there is room', async () => (await second.tryPut('more', 'x')).status === 200 || undefined)
    ok(await service.server.raw('PUT', target, { body: 'x' }))
  })
})

describe('one client against everybody', () => {
  const freshBucket = async (): Promise<TestBucket> =>
    makeBucket(service.server.as((await service.server.createOrganization()).secretKey))
  const urlOf = async ({ api, path }: TestBucket, name: string): Promise<string> => {
    const { url } = ok(await api.post(`${path}/url`, { name, method: 'PUT' }))
    return url.slice(service.server.url.length)
  }
  const inFlight = async (): Promise<number> => sumOf(await scrape(service.server), 'cubby_file_uploads_in_flight') ?? 0
  /** An upload that has sent two bytes. */
  const hold = async (target: string, key?: string): Promise<RawConnection> => {
    const connection = await connectRaw(service.server.port, 90_000)
    connection.send(rawRequest(service.server, 'PUT', target, { key, headers: declared(mib) }))
    connection.send('ab')
    return connection
  }
  const untilInFlight = (count: number): Promise<unknown> =>
    eventually(`${count} are in flight`, async () => (await inFlight()) === count || undefined)
  const closeAll = async (connections: RawConnection[]): Promise<void> => {
    for (const connection of connections) connection.close()
    await untilInFlight(0)
  }

  test(`of one signed URL at most ${uploadsOfUrlMax} uploads are read at once; other URLs are served`, async () => {
    const own = await freshBucket()
    const before = await refusedFor('url')
    const target = await urlOf(own, 'a')
    const open = await Promise.all(Array.from({ length: uploadsOfUrlMax }, () => hold(target)))
    await untilInFlight(uploadsOfUrlMax)
    // The order of the parameters makes no other URL of it.
    const [path, query] = target.split('?') as [string, string]
    for (const same of [target, `${path}?${query.split('&').reverse().join('&')}`]) {
      const refusal = refused(await service.server.raw('PUT', same, { body: 'x' }), 503, 'unavailable')
      expect(refusal.message).toContain('Too many uploads on this URL')
    }
    expect((await refusedFor('url')) - before).toBe(2)
    ok(await service.server.raw('PUT', await urlOf(own, 'b'), { body: 'x' }))
    await own.put('c')
    await closeAll(open)
    ok(await service.server.raw('PUT', target, { body: 'x' }))
  })

  test('who has few takes the place of the slowest upload of the one that has most, which stores nothing', async () => {
    const [first, second, third] = [await freshBucket(), await freshBucket(), await freshBucket()]
    await first.put('u0', 'before')
    const before = await refusedFor('replaced')
    // One that is quick, and does not lose its place.
    const quick = await hold(first.at('quick'), first.api.key)
    quick.send(part)
    const slow: RawConnection[] = []
    for (let n = 1; n < uploadsOfOrganizationMax; n++) slow.push(await hold(first.at('u0'), first.api.key))
    await untilInFlight(uploadsOfOrganizationMax)
    const others: RawConnection[] = []
    for (let n = uploadsOfOrganizationMax; n < uploadsMax; n++) {
      others.push(await hold(await urlOf(second, `u${n}`)))
    }
    await untilInFlight(uploadsMax)
    const lost: ApiResponse[] = []
    for (const connection of slow)
      connection.answer().then(
        (answer) => lost.push(answer),
        () => {},
      )
    // An organization that holds nothing is served. So is one that holds less than half of what the fullest does.
    await third.put('a')
    const kept = await hold(third.at('b'), third.api.key)
    await untilInFlight(uploadsMax)
    await second.put('a')
    expect((await refusedFor('replaced')) - before).toBe(2)
    await eventually('those that lost their places are told so', () => lost.length === 2 || undefined)
    for (const answer of lost) {
      expect(refused(answer, 503, 'unavailable').message).toContain('the slowest upload')
      expect(answer.headers.has('retry-after')).toBe(true)
    }
    expect(await first.read('u0')).toBe('before')
    quick.send(Buffer.alloc(mib - 2 - part.length))
    expect(ok(await quick.answer()).size).toBe(mib)
    await closeAll([quick, kept, ...slow, ...others])
  })
})

test.skipIf(!isFull)(
  'an upload without enough progress is cut after 30 seconds, and the previous file stays',
  async () => {
    await bucket.put('slow', 'before')
    const startedAtMs = performance.now()
    const send = async (headers: [string, string][], first: string, drop?: string): Promise<SlowSender> =>
      sendSlowly(await begin(bucket.at('slow'), headers), first, drop)
    const small = chunk('x').toString()
    const slow = await Promise.all([
      send(declared(mib), 'x'),
      send(declared(mib), 'x', 'x'),
      send(declared(100), 'x', 'x'),
      send(chunkedHeader, small),
      send(chunkedHeader, small, small),
    ])
    for (const { answer, answeredAtMs, closed, stop } of slow) {
      const refusal = refused(await answer, 503, 'unavailable')
      expect(refusal.message).toContain('Fewer than 65536 bytes of the file arrived within 30 seconds')
      expect((await answeredAtMs) - startedAtMs).toBeGreaterThan(fileIdleMsMax - 100)
      expect((await answeredAtMs) - startedAtMs).toBeLessThan(fileIdleMsMax + 15_000)
      await closed
      stop()
    }
    expect(await refusedFor('slow')).toBe(slow.length)
    expect(await bucket.read('slow')).toBe('before')
  },
  90_000,
)
