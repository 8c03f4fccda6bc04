import { describe, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { CubbyError, type ErrorCode, type FileBody, type UploadProgress, uploadTo } from '../src/index.ts'
import { fakeBucket, fileRecord } from './fake-bucket.ts'
import { broken, failureOf, json, key, refused, url } from './fake-fetch.ts'
import { until } from './fake-tasks.ts'
import { inTemporaryDirectory } from './real-server.ts'

const put = (body: FileBody, options = {}, replies = [json(fileRecord)]) => {
  const { bucket, requests } = fakeBucket(replies)
  return bucket.put('a.txt', body, options).then((record) => ({ record, request: requests[0]!, requests }))
}

const chunked = (...chunks: (Uint8Array | string)[]) =>
  (async function* () {
    for (const chunk of chunks) yield chunk
  })()

const streamed = (...chunks: string[]) => new Blob(chunks).stream() as ReadableStream<Uint8Array>

describe('what is sent', () => {
  test('a put has the key, the bytes, and no more headers than it needs', async () => {
    const { record, request } = await put('hello')
    expect(record).toEqual(fileRecord)
    expect(request).toEqual({
      method: 'PUT',
      path: '/v1/app/_buckets/avatars/a.txt',
      headers: { authorization: `Bearer ${key}` },
      body: 'hello',
      duplex: undefined,
    })
  })

  test('visibility, ttl and metadata are parameters, conditions are headers', async () => {
    const { request } = await put('hello', {
      visibility: 'public',
      ttl: new Date(1_900_000_000_001),
      metadata: { by: 'a+b & c', n: 1 },
      ifMatch: 7,
    })
    const { pathname, searchParams } = new URL(request.path, url)
    expect(pathname).toBe('/v1/app/_buckets/avatars/a.txt')
    expect(Object.fromEntries(searchParams)).toEqual({
      visibility: 'public',
      ttl: '1900000001',
      metadata: '{"by":"a+b & c","n":1}',
    })
    expect(request.headers['if-match']).toBe('"7"')
    expect((await put('', { ifAbsent: true })).request.headers['if-none-match']).toBe('*')
    expect(await failureOf(put('', { ifMatch: undefined }))).toMatchObject({
      code: 'invalid_request',
      field: 'ifMatch',
    })
  })

  test('each segment of a name is encoded once', async () => {
    const { bucket, requests } = fakeBucket([json(fileRecord)])
    await bucket.put('cats & dogs/50%/ä#?+ü.png', '')
    expect(requests[0]!.path).toBe('/v1/app/_buckets/avatars/cats%20%26%20dogs/50%25/%C3%A4%23%3F%2B%C3%BC.png')
  })

  const view = new DataView(new TextEncoder().encode('<hello>').buffer, 1, 5)
  const bodies: [string, FileBody, 'half' | undefined][] = [
    ['a string', 'hello', undefined],
    ['a Blob', new Blob(['hel', 'lo']), undefined],
    ['a File', new File(['hello'], 'other.txt'), undefined],
    ['an ArrayBuffer', new TextEncoder().encode('hello').buffer, undefined],
    ['a Uint8Array', new TextEncoder().encode('hello'), undefined],
    ['a view of a part of a buffer', view, undefined],
    ['a Buffer', Buffer.from('hello'), undefined],
    ['a ReadableStream', streamed('hel', 'lo'), 'half'],
    ['an async iterable of bytes and strings', chunked(Buffer.from('hel'), '', 'lo'), 'half'],
    ["a stream of Node's", Readable.from([Buffer.from('hello')]), 'half'],
    ['an empty string', '', undefined],
    ['an empty stream', streamed(), 'half'],
  ]
  test.each(bodies)('the bytes of %s', async (name, body, duplex) => {
    const { request } = await put(body)
    expect(request).toMatchObject({ body: name.includes('empty') ? '' : 'hello', duplex })
  })

  test.each([[{}], [['hello']], [5], [null], [undefined], [new FormData()]])(
    '%p is not a body, and nothing is sent',
    async (body) => {
      const { bucket, requests } = fakeBucket([])
      expect(await failureOf(bucket.put('a', body as never))).toMatchObject({ code: 'invalid_request', field: 'body' })
      expect(requests).toEqual([])
    },
  )

  test('a chunk that is neither bytes nor a string is refused', async () => {
    const body = chunked('a', { b: 1 } as never)
    expect(await failureOf(put(body))).toMatchObject({ code: 'invalid_request', field: 'body', status: 0 })
  })

  test('the type is that of the Blob, unless the call has one; that of a string is for the server to find', async () => {
    const blob = new Blob(['hello'], { type: 'image/png' })
    expect((await put(blob)).request.headers['content-type']).toBe('image/png')
    expect((await put(blob, { contentType: 'image/gif' })).request.headers['content-type']).toBe('image/gif')
    expect((await put(streamed('a'), { contentType: 'image/gif' })).request.headers['content-type']).toBe('image/gif')
    expect((await put('{}')).request.headers).not.toContainKey('content-type')
    expect(await failureOf(put('', { contentType: 'a/b\r\nx: y' }))).toMatchObject({
      code: 'invalid_request',
      field: 'contentType',
    })
  })

  test('sha256 is sent as Content-Digest', async () => {
    const { request } = await put('hello', { sha256: fileRecord.sha256 })
    // `printf hello | openssl dgst -sha256 -binary | base64`
    expect(request.headers['content-digest']).toBe('sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:')
  })

  test.each(['', 'hello', fileRecord.sha256.slice(1), `${fileRecord.sha256}0`, 'g'.repeat(64), 5, null])(
    'the sha256 %p is refused before anything is sent',
    async (sha256) => {
      const { bucket, fetch, requests } = fakeBucket([])
      const options = { sha256: sha256 as string }
      for (const call of [
        bucket.put('a', 'hello', options),
        uploadTo(`${url}/files/a`, 'hello', { ...options, fetch }),
      ])
        expect(await failureOf(call)).toMatchObject({
          code: 'invalid_request',
          field: 'sha256',
          message: 'sha256 takes a string of 64 hex digits.',
        })
      expect(requests).toEqual([])
    },
  )

  const names = [
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    './a',
    'a/..',
    'a\nb',
    'a\0',
    'a\x7f',
    'a\x85',
    '\ud800',
  ]
  test.each([...names, 5 as never])('the name %p is refused before anything is sent', async (name) => {
    const { bucket, requests } = fakeBucket([])
    const calls = [
      bucket.put(name, 'hello'),
      bucket.get(name),
      bucket.describe(name),
      bucket.update(name, { visibility: 'public' }),
      bucket.remove(name),
      bucket.getUrl(name),
    ]
    for (const call of calls) expect(await failureOf(call)).toMatchObject({ code: 'invalid_key', field: 'name' })
    expect(requests).toEqual([])
  })

  test('names with dots that no parser drops are sent', async () => {
    const { bucket, requests } = fakeBucket([json({ deleted: true }), json({ deleted: true })])
    await bucket.remove('.../.a')
    await bucket.remove('a..b/c.')
    expect(requests.map(({ path }) => path)).toEqual([
      '/v1/app/_buckets/avatars/.../.a',
      '/v1/app/_buckets/avatars/a..b/c.',
    ])
  })
})

describe('progress', () => {
  const progressOf = async (body: FileBody) => {
    const met: UploadProgress[] = []
    const { request } = await put(body, { onProgress: (progress: UploadProgress) => met.push(progress) })
    return { met, request }
  }

  test('of a stream: what was taken so far', async () => {
    const { met, request } = await progressOf(chunked('he', 'll', 'o'))
    expect(met).toEqual([2, 4, 5].map((sentBytes) => ({ sentBytes, totalBytes: undefined })))
    expect(request.headers).not.toContainKey('content-length')
  })

  test('of bytes: also of how many, and the length is still sent', async () => {
    const { met, request } = await progressOf('x'.repeat(300_000))
    expect(met.at(-1)).toEqual({ sentBytes: 300_000, totalBytes: 300_000 })
    expect(met.length).toBeGreaterThan(3)
    expect(request).toMatchObject({ duplex: 'half', headers: { 'content-length': '300000' } })
    expect(request.body).toHaveLength(300_000)
  })

  // Node has a whole Blob in one chunk: the first call would say that all of it was sent.
  test('a large chunk is reported and sent in pieces', async () => {
    const large = crypto.getRandomValues(new Uint8Array(60_000)).toHex().repeat(2)
    const { met, request } = await progressOf(chunked(large, 'x'))
    expect(met.map(({ sentBytes }) => sentBytes)).toEqual([65_536, 131_072, 196_608, 240_000, 240_001])
    expect(request.body).toBe(`${large}x`)
  })

  test('an empty file has one step', async () => {
    expect((await progressOf('')).met).toEqual([{ sentBytes: 0, totalBytes: 0 }])
    expect((await progressOf(chunked())).met).toEqual([{ sentBytes: 0, totalBytes: undefined }])
    expect((await progressOf(chunked(''))).met).toEqual([{ sentBytes: 0, totalBytes: undefined }])
  })

  test('a callback that throws ends the upload with its error', async () => {
    const error = new Error('mine')
    const onProgress = () => {
      throw error
    }
    expect(await failureOf(put(chunked('a', 'b'), { onProgress }))).toBe(error as never)
  })

  test('also in a second attempt, if the first was refused; after one without an answer it may have been applied', async () => {
    const error = new Error('mine')
    for (const [first, expected] of [
      [refused(503, 'unavailable'), { message: 'mine' }],
      [broken(), { code: 'outcome_unknown', message: expect.stringContaining('mine') }],
      [new Response('<h1>Bad gateway</h1>', { status: 502 }), { code: 'outcome_unknown' }],
    ] as const) {
      let attempts = 0
      const onProgress = () => {
        if (++attempts > 1) throw error
      }
      const { bucket, requests } = fakeBucket([first, json(fileRecord)])
      expect(await failureOf(bucket.put('a', new Blob(['hello']), { onProgress, ifMatch: 7 }))).toMatchObject(expected)
      expect(requests).toHaveLength(2)
    }
  })
})

describe('retries', () => {
  test('bytes are sent again, whole, after 503', async () => {
    for (const options of [{}, { onProgress: () => {} }]) {
      const replies = [refused(503, 'unavailable'), json(fileRecord)]
      const { requests } = await put(new Blob(['hello']), options, replies)
      expect(requests.map(({ body }) => body)).toEqual(['hello', 'hello'])
    }
  })

  test('without an answer they are not: somebody else may have written. With ifMatch they are', async () => {
    const { bucket, requests } = fakeBucket([broken(), broken(), json(fileRecord)])
    expect(await failureOf(bucket.put('a', 'hello'))).toMatchObject({ code: 'outcome_unknown', status: 0 })
    expect(requests).toHaveLength(1)
    await bucket.put('a', 'hello', { ifMatch: 7 })
    expect(requests).toHaveLength(3)
  })

  test('a stream is sent once, also where bytes would be sent again', async () => {
    const { bucket, requests } = fakeBucket([refused(503, 'unavailable'), json(fileRecord)])
    const options = { ifMatch: 7, retries: 5, repeatWrites: true }
    expect(await failureOf(bucket.put('a', streamed('hello'), options))).toMatchObject({ status: 503 })
    expect(requests).toHaveLength(1)
  })

  test('an upload has no time limit of its own; `timeoutMs` of the call is one', async () => {
    const slow = async function* () {
      for (let i = 0; i < 6; i++) {
        await Bun.sleep(10)
        yield 'x'
      }
    }
    const { bucket } = fakeBucket([json(fileRecord)], { timeoutMs: 20 })
    expect(await bucket.put('a', slow())).toEqual(fileRecord)

    const never = fakeBucket([], {
      fetch: (_, { signal }) => new Promise((_, no) => signal!.addEventListener('abort', () => no(signal!.reason))),
    })
    const error = await failureOf(never.bucket.put('a', 'x', { timeoutMs: 20 }))
    expect(error).toMatchObject({ code: 'outcome_unknown', message: expect.stringContaining('no answer within 20 ms') })
  })
})

describe('failures', () => {
  test.each([
    [413, 'file_too_large'],
    [400, 'digest_mismatch'],
    [415, 'unsupported_media_type'],
    [412, 'precondition_failed'],
    [507, 'storage_full'],
  ] as [number, ErrorCode][])('%d %s', async (status, code) => {
    const error = await failureOf(put('hello', {}, [refused(status, code)]))
    expect(error).toBeInstanceOf(CubbyError)
    expect(error).toMatchObject({ code, status, requestId: 'req-1' })
  })

  test('a stream that fails rejects the put with its own error', async () => {
    const error = new Error('the disk is broken')
    const body = (async function* () {
      yield 'a'
      throw error
    })()
    expect(await failureOf(put(body))).toBe(error as never)
  })

  const nodeError = Object.assign(new TypeError('fetch failed'), {
    cause: new DOMException('The blob could not be read', 'NotReadableError'),
  })
  test('a Blob that cannot be read rejects the put with its own error, as a stream does', async () => {
    for (const options of [{}, { ifMatch: 7, retries: 1 }, { onProgress: () => {} }]) {
      const error = await failureOf(put(Bun.file('/missing/file'), options, []))
      expect(error as unknown).toMatchObject({ code: 'ENOENT', path: '/missing/file' })
    }
    expect(await failureOf(put(new Blob(['a']), {}, [nodeError as never]))).toBe(nodeError.cause as never)
  })

  test('a file that is gone after an attempt without an answer: the outcome is unknown', async () => {
    await inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'a.txt')
      for (const options of [{}, { onProgress: () => {} }]) {
        await Bun.write(path, 'hello')
        let calls = 0
        const fetch = async (_: string, { body }: RequestInit) => {
          expect(await new Response(body as Blob).text()).toBe('hello')
          calls++
          await rm(path)
          throw broken()
        }
        const { bucket } = fakeBucket([], { fetch, retries: 1 })
        const error = await failureOf(bucket.put('a', Bun.file(path), { ifMatch: 7, ...options }))
        expect(error).toMatchObject({ code: 'outcome_unknown', message: expect.stringContaining('ENOENT') })
        expect(calls).toBe(1)
      }
    })
  })

  const source = () => {
    let ended = false
    const body = (async function* () {
      try {
        for (;;) {
          await Bun.sleep(1)
          yield 'x'
        }
      } finally {
        ended = true
      }
    })()
    return { body, ended: () => ended }
  }

  test('an answer before the stream is read ends the stream', async () => {
    for (const inner of [source(), source()]) {
      const body = inner.body
      const early = fakeBucket([], { fetch: async () => refused(413, 'file_too_large') })
      await body.next()
      expect(await failureOf(early.bucket.put('a', body))).toMatchObject({ code: 'file_too_large', status: 413 })
      await until('the stream ends', inner.ended)
    }
    let cancelled = false
    const stream = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true
      },
    })
    const early = fakeBucket([], { fetch: async () => refused(413, 'file_too_large') })
    await failureOf(early.bucket.put('a', stream))
    expect(cancelled).toBe(true)
  })

  test('the answer counts, also if the runtime ends the stream while a chunk is being read', async () => {
    const fetch = async (_: string, { body }: RequestInit) => {
      const taken = (body as ReadableStream).getReader()
      await taken.read()
      await Bun.sleep(5)
      await taken.cancel()
      await Bun.sleep(40)
      return refused(413, 'file_too_large')
    }
    const { bucket } = fakeBucket([], { fetch })
    const slow = async function* () {
      yield 'x'
      await Bun.sleep(20)
      yield 'x'
    }
    expect(await failureOf(bucket.put('a', slow()))).toMatchObject({ code: 'file_too_large', status: 413 })
  })

  test('an abort rejects with its reason and ends the stream', async () => {
    const { body, ended } = source()
    const controller = new AbortController()
    const reason = new Error('enough')
    const { bucket } = fakeBucket([json(fileRecord)])
    setTimeout(() => controller.abort(reason), 20)
    expect(await failureOf(bucket.put('a', body, { signal: controller.signal }))).toBe(reason as never)
    await until('the stream ends', ended)
  })
})

describe('uploadTo', () => {
  const signed = `${url}/files/bkt_1/a.txt?method=PUT&signature=secret`

  test('sends the bytes to the URL as it is, without a key', async () => {
    const { fetch, requests } = fakeBucket([json(fileRecord)])
    expect(await uploadTo(signed, new Blob(['hello'], { type: 'image/png' }), { fetch })).toEqual(fileRecord)
    expect(requests).toEqual([
      {
        method: 'PUT',
        path: '/files/bkt_1/a.txt?method=PUT&signature=secret',
        headers: { 'content-type': 'image/png' },
        body: 'hello',
        duplex: undefined,
      },
    ])
  })

  test('what is not a URL is refused before anything is sent', async () => {
    const { fetch, requests } = fakeBucket([])
    for (const wrong of [undefined, '', 'not a URL', ` ${signed}`] as string[]) {
      const error = await failureOf(uploadTo(wrong, 'hello', { fetch }))
      expect(error).toMatchObject({ code: 'invalid_request', field: 'url', status: 0 })
      expect(JSON.stringify([error.message, error.hint])).not.toContain('signature=')
    }
    expect(requests).toEqual([])
  })

  test('no error shows the signature', async () => {
    const { fetch } = fakeBucket([broken(), new Response('<h1>', { status: 400 })])
    for (const code of ['outcome_unknown', 'internal'] as const) {
      const error = await failureOf(uploadTo(signed, 'hello', { fetch }))
      expect(error).toMatchObject({ code, message: expect.stringContaining(`PUT ${url}/files/bkt_1/a.txt: `) })
      expect(`${error.message} ${error.hint}`).not.toContain('secret')
    }
  })

  test('a refusal has its code', async () => {
    const { fetch } = fakeBucket([refused(403, 'expired_url')])
    expect(await failureOf(uploadTo(signed, 'hello', { fetch }))).toMatchObject({ code: 'expired_url', status: 403 })
  })
})
