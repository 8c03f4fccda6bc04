import { afterEach, describe, expect, test } from 'bun:test'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { pushResponseBytesMax } from '../../src/core/limits.ts'
import type { PushOutcome } from '../../src/push/push-run.ts'
import { aRun, comes, http, type Listener, listen, push, type Reply } from './push-fixture.ts'

const targets: Listener[] = []
afterEach(async () => {
  // The push has closed its connection after any answer.
  for (const target of targets) expect(await comes(() => target.open.size === 0)).toBe(true)
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

const outcomeFor = async (answer: Reply, options: Parameters<typeof push>[1] = {}): Promise<PushOutcome> => {
  const target = await listen(answer)
  targets.push(target)
  return push(`http://127.0.0.1:${target.port}/`, options)
}

const then =
  (text: string | Uint8Array, next: (socket: Socket) => void = () => {}): Reply =>
  (socket) => {
    socket.write(text)
    next(socket)
  }
const end = (socket: Socket): void => void socket.end()

/** The bytes that `flood` has written since the last look. */
let floodedBytes = 0

/** Sends the text, as a `then`, again and again, as fast as it is read. It is bounded, should nobody ever close it. */
const flood =
  (text: string) =>
  (socket: Socket): void => {
    const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
    floodedBytes = 0
    const more = (): void => {
      while (!socket.destroyed && floodedBytes < 2_000_000_000) {
        floodedBytes += chunk.length
        if (!socket.write(chunk)) return
      }
    }
    socket.on('drain', more)
    more()
  }

/** A flood that was not read on: what it has written fits into the buffers of the two sockets. */
const expectStopped = (): void => expect(floodedBytes).toBeLessThan(64_000_000)

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

const failure = (code: string, changes: object = {}) => ({
  ...{ status: 'failed', error: { code, message: expect.any(String) }, retry: true, retryAfterMs: null },
  ...changes,
})
const success = (result: string | null = null) => ({ status: 'succeeded', result }) as const

describe('2xx: succeeded, with the JSON object of the body as its result', () => {
  const results: [string, string | Uint8Array, string | null][] = [
    ['an object, as it was sent', '{ "n": 1.0, "n": 12345678901234567890 }', '{ "n": 1.0, "n": 12345678901234567890 }'],
    ['without the white space around it', ' \n{"a":"é"}\r\n', '{"a":"é"}'],
    [
      'an object of 65,536 bytes',
      `{"a":"${'x'.repeat(pushResponseBytesMax - 8)}"}`,
      `{"a":"${'x'.repeat(pushResponseBytesMax - 8)}"}`,
    ],
    ['none for 65,537 bytes', `{"a":"${'x'.repeat(pushResponseBytesMax - 7)}"}`, null],
    ['64 levels', `${'{"a":'.repeat(63)}{}${'}'.repeat(63)}`, `${'{"a":'.repeat(63)}{}${'}'.repeat(63)}`],
    ['none for 65 levels', `${'{"a":'.repeat(64)}{}${'}'.repeat(64)}`, null],
    ['none for no body', '', null],
    ['none for an array', '[{}]', null],
    ['none for a string', '"{}"', null],
    ['none for text', 'ok', null],
    ['none for two objects', '{}{}', null],
    ['none for JSON that breaks off', '{"a":', null],
    ['none for a byte order mark', '\ufeff{}', null],
    ['none for what is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), null],
    ['none for compressed bytes: nothing is decompressed', gzipSync('{}'), null],
  ]
  for (const [what, body, result] of results) {
    test(what, async () => {
      expect(await outcomeFor(http(200, body))).toEqual(success(result))
    })
  }

  test('every 2xx, and a body in chunks or until the connection closes', async () => {
    for (const status of [200, 201, 202, 226, 299]) expect(await outcomeFor(http(status, '{}'))).toEqual(success('{}'))
    expect(await outcomeFor('HTTP/1.1 204 No Content\r\n\r\n')).toEqual(success())
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n'
    expect(await outcomeFor(chunked)).toEqual(success('{"a":1}'))
    expect(await outcomeFor(then('HTTP/1.1 200 OK\r\n\r\n{"a":1}', end))).toEqual(success('{"a":1}'))
    expect(await outcomeFor(`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${http(200, '{}')}`)).toEqual(success('{}'))
  })

  test('a bomb of compressed bytes is not decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, ' '))
    expect(await outcomeFor(http(200, bomb, 'content-encoding: gzip\r\n'))).toEqual(success())
  })
})

describe('the status decides, whatever becomes of the body', () => {
  test('a body that breaks off is dropped', async () => {
    expect(await outcomeFor(then('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}', end))).toEqual(success())
    expect(await outcomeFor(then('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n', end))).toEqual(
      success(),
    )
    expect(await outcomeFor('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}')).toEqual(success())
    const reset = then('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}', (socket) =>
      setTimeout(() => socket.resetAndDestroy(), 20),
    )
    expect(await outcomeFor(reset)).toEqual(success())
  })

  const endless: [string, string, string][] = [
    ['a body', 'HTTP/1.1 200 OK\r\n\r\n', '{'],
    ['chunks', chunked, '1\r\n{\r\n'],
    ['the size of a chunk', chunked, '0'],
    ['the extension of a chunk', `${chunked}1;`, 'a'],
    ['extensions of many chunks', chunked, `1;a="${'b'.repeat(1_000)}"\r\n{\r\n`],
    ['a trailer', `${chunked}2\r\n{}\r\n0\r\nx-a: `, 'a'],
    ['trailers', `${chunked}2\r\n{}\r\n0\r\n`, 'x-a: b\r\n'],
  ]
  for (const [what, beginning, text] of endless) {
    test(`${what} without end: read up to the limit and no further`, async () => {
      const cuts: string[] = []
      const onCut = (part: string): void => void cuts.push(part)
      const outcome = await outcomeFor(then(beginning, flood(text)), { ms: 60_000, onCut })
      expect({ outcome, cuts }).toEqual({ outcome: success(), cuts: ['body'] })
      expectStopped()
    })
  }

  test('chunks of one byte, with sizes and extensions that are still in proportion, are a body', async () => {
    const bytes = [...`{"a":"${'x'.repeat(pushResponseBytesMax - 8)}"}`]
    const body = bytes.map((byte) => `1\r\n${byte}\r\n`).join('')
    expect(await outcomeFor(`${chunked}${body}0\r\nx-a: b\r\n\r\n`, { ms: 60_000 })).toEqual(success(bytes.join('')))
    const few = '5;a\r\n{"a":\r\n0002 ; b="c;d"\r\n1}\r\n000\r\nx-a: b\r\nx-c: d\r\n\r\n'
    expect(await outcomeFor(`${chunked}${few}`)).toEqual(success('{"a":1}'))
  })

  test('a body whose length is over the limit is not waited for', async () => {
    expect(await outcomeFor('HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n')).toEqual(success())
  })

  test('an error is not waited for to the end of its body', async () => {
    const answer = 'HTTP/1.1 500 Oh\r\ncontent-length: 1000\r\n\r\nsecret'
    expect(await outcomeFor(answer)).toEqual(failure('http_status') as never)
  })
})

describe('other statuses', () => {
  test('410: failed for good, also with Retry-After', async () => {
    const outcome = await outcomeFor(http(410, '', 'retry-after: 5\r\n'))
    expect(outcome).toEqual(failure('http_status', { retry: false }) as never)
  })

  test('anything else: a failed attempt that names the status, never the body', async () => {
    for (const status of [300, 304, 400, 401, 404, 408, 429, 500, 503, 599, 999]) {
      const outcome = await outcomeFor(http(status, '{"hidden":1}', 'x-hidden: hidden\r\n'))
      expect(outcome).toEqual({
        ...failure('http_status', { error: { code: 'http_status', message: `The target answered ${status}.` } }),
      } as never)
    }
  })

  test('Retry-After: seconds or a date, at most a day; what cannot be read has no effect', async () => {
    const nowMs = Date.parse('2026-11-16T12:00:00Z')
    const day = 86_400_000
    const cases: [string, number | null][] = [
      ...([
        ['0', 0],
        ['120', 120_000],
        ['86400', day],
        ['86401', day],
        ['9'.repeat(400), day],
      ] as [string, number][]),
      ...([
        ['Mon, 16 Nov 2026 12:00:00 GMT', 0],
        ['Mon, 16 Nov 2020 12:00:00 GMT', 0],
      ] as [string, number][]),
      ['Fri, 31 Dec 9999 23:59:59 GMT', day],
      ...(['', '-1', '1.5', 'soon', '1e3', '0x10', '2026-11-16T13:00:00Z', 'Mon, 99 Nov 2026 12:00:00 GMT'].map(
        (text) => [text, null],
      ) as [string, null][]),
    ]
    for (const [value, retryAfterMs] of cases) {
      const outcome = await outcomeFor(http(503, '', `retry-after: ${value}\r\n`), { nowMs })
      expect([value, (outcome as { retryAfterMs: number | null }).retryAfterMs]).toEqual([value, retryAfterMs])
    }
    const startedAt = performance.now()
    const soon = await outcomeFor(http(503, '', 'retry-after: Mon, 16 Nov 2026 12:05:00 GMT\r\n'), { nowMs })
    const { retryAfterMs } = soon as { retryAfterMs: number }
    // The time that the answer took counts.
    expect(retryAfterMs).toBeLessThanOrEqual(300_000)
    expect(retryAfterMs).toBeGreaterThanOrEqual(300_000 - Math.ceil(performance.now() - startedAt))
    expect(Number.isInteger(retryAfterMs)).toBe(true)
  })
})

describe('no answer: `connection`', () => {
  const broken: [string, Reply][] = [
    ['closed without an answer', end],
    ['reset', (socket) => socket.resetAndDestroy()],
    ['closed within the headers', then('HTTP/1.1 200 OK\r\nx-a: b', end)],
    ['text', 'garbage hidden\r\n\r\n'],
    ['bytes', Buffer.from([0, 1, 2, 255, 254, 10, 13, 10, 13, 10])],
    ['a body without headers', '{"hidden":1}'],
    ['another protocol', 'HTTP/2 200\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
    ['a length that is no number', 'HTTP/1.1 200 OK\r\ncontent-length: hidden\r\n\r\n{}'],
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: hidden\r\n\r\nhidden'],
    ['a header that is too long', `HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(20_000)}\r\ncontent-length: 0\r\n\r\n`],
    [
      'headers without end',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        const timer = setInterval(() => socket.write(`x-a: ${'a'.repeat(1_000)}\r\n`), 1)
        socket.on('close', () => clearInterval(timer))
      },
    ],
  ]
  for (const [what, answer] of broken) {
    test(what, async () => {
      const outcome = await outcomeFor(answer, { ms: 60_000 })
      expect(outcome).toEqual(failure('connection') as never)
      expect(JSON.stringify(outcome)).not.toContain('hidden')
    })
  }

  test('nothing listens', async () => {
    // A port that only the system may use: no other test can get it meanwhile.
    const outcome = await push('http://127.0.0.1:1/')
    expect(outcome).toEqual(
      failure('connection', {
        error: { code: 'connection', message: 'The target refused the connection (ECONNREFUSED).' },
      }) as never,
    )
  })
})

describe('before the head of the answer: 16 interim answers and 64 KiB, then `connection`', () => {
  const interim = (status: number, bytes = 40): string => {
    const head = `HTTP/1.1 ${status} Any\r\nlink: \r\n\r\n`
    return head.replace('link: ', `link: ${'a'.repeat(bytes - head.length)}`)
  }
  const cutsOf = async (answer: Reply) => {
    const cuts: string[] = []
    const outcome = await outcomeFor(answer, { ms: 60_000, onCut: (part) => void cuts.push(part) })
    return { outcome, cuts }
  }
  const refusedFor = (part: string, text: string) => ({
    outcome: failure('connection', { error: { code: 'connection', message: expect.stringContaining(text) } }),
    cuts: [part],
  })

  for (const status of [100, 102, 103, 199]) {
    test(`${status} without end, as fast as it is read`, async () => {
      const found = await cutsOf(then('', flood(`HTTP/1.1 ${status} Any\r\n\r\n`)))
      expect(found).toEqual(refusedFor('interim', 'interim') as never)
      expectStopped()
    })
  }

  test('100 without end, slowly', async () => {
    const slowly: Reply = (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 5)
      socket.on('close', () => clearInterval(timer))
    }
    expect(await cutsOf(slowly)).toEqual(refusedFor('interim', 'interim') as never)
  })

  test('100 without end, through TLS', async () => {
    const target = await listen(then('', flood('HTTP/1.1 100 Continue\r\n\r\n')), { name: 'hook.example.com' })
    targets.push(target)
    const outcome = await push(`https://hook.example.com:${target.port}/`, { ms: 60_000 })
    expect(outcome).toEqual(failure('connection') as never)
    expectStopped()
  })

  test('16 of them are read over, the 17th is too many', async () => {
    const whole = { outcome: success('{}'), cuts: [] }
    expect(await cutsOf(`${interim(103).repeat(16)}${http(200, '{}')}`)).toEqual(whole)
    expect(await cutsOf(`${interim(103).repeat(17)}${http(200, '{}')}`)).toEqual(
      refusedFor('interim', 'interim') as never,
    )
  })

  test('65,536 bytes of them are read over, one more is too many', async () => {
    const whole = { outcome: success('{}'), cuts: [] }
    expect(await cutsOf(`${interim(103, 16_384).repeat(4)}${http(200, '{}')}`)).toEqual(whole)
    expect(await cutsOf(`${interim(103, 65_536)}${http(200, '{}')}`)).toEqual(whole)
    const more = `${interim(103, 16_384).repeat(3)}${interim(103, 16_385)}${http(200, '{}')}`
    expect(await cutsOf(more)).toEqual(refusedFor('interim', 'interim') as never)
    expect(await cutsOf(`${interim(103, 65_537)}${http(200, '{}')}`)).toEqual(refusedFor('interim', 'interim') as never)
  })

  const endless: [string, string, string][] = [
    ['blank lines', '', '\r\n'],
    ['a status line', 'HTTP/1.1 200 ', 'a'],
    ['a header', 'HTTP/1.1 200 OK\r\nx-a: ', 'a'],
    ['headers', 'HTTP/1.1 200 OK\r\n', 'x-a: b\r\n'],
    ['text without a line', '', 'HTTP/1.1'],
  ]
  for (const [what, beginning, text] of endless) {
    test(`${what} without end`, async () => {
      const { outcome } = await cutsOf(then(beginning, flood(text)))
      expect(outcome).toEqual(failure('connection') as never)
      expectStopped()
    })
  }

  test('a head of 16,384 bytes is read, one more byte is too many', async () => {
    const head = (bytes: number): string => {
      const rest = 'HTTP/1.1 200 OK\r\nx-a: \r\ncontent-length: 2\r\n\r\n'
      return `${rest.replace('x-a: ', `x-a: ${'a'.repeat(bytes - rest.length)}`)}{}`
    }
    expect(await cutsOf(head(16_384))).toEqual({ outcome: success('{}'), cuts: [] })
    expect(await cutsOf(head(16_385))).toEqual(refusedFor('head', 'headers') as never)
  })
})

describe('no whole answer before the signal: `timeout`, and the connection is closed', () => {
  const slow: [string, Reply][] = [
    ['a silent target', ''],
    ['headers that do not end', 'HTTP/1.1 200 OK\r\n'],
    ['a body that does not end', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}'],
    [
      'a body that comes byte by byte',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n{')
        const timer = setInterval(() => socket.write(' '), 5)
        socket.on('close', () => clearInterval(timer))
      },
    ],
  ]
  for (const [what, answer] of slow) {
    // None of these targets ever ends its answer: a push that does not heed the signal has no outcome at all.
    test(what, async () => {
      expect(await outcomeFor(answer, { ms: 150 })).toEqual(failure('timeout') as never)
    })
  }

  test('a target that does not read the request', async () => {
    const target = await listen('')
    targets.push(target)
    const run = aRun({ payload: `{"a":"${'x'.repeat(8_000_000)}"}` })
    const deadline = new AbortController()
    const stopped = push(`http://127.0.0.1:${target.port}/`, { signal: deadline.signal }, { run })
    expect(await comes(() => target.open.size === 1)).toBe(true)
    for (const socket of target.open) socket.pause()
    await Bun.sleep(50)
    deadline.abort()
    expect(await stopped).toEqual(failure('timeout') as never)
    for (const socket of target.open) socket.resume()
  })

  test('a signal that has aborted already: nothing is connected', async () => {
    const target = await listen(http(200))
    targets.push(target)
    const outcome = await push(`http://127.0.0.1:${target.port}/`, { signal: AbortSignal.abort() })
    expect(outcome).toEqual(failure('timeout') as never)
    await Bun.sleep(20)
    expect(target.received).toBe('')
  })

  test('TLS that never answers', async () => {
    const target = await listen(() => {})
    targets.push(target)
    const outcome = await push(`https://hook.example.com:${target.port}/`, { ms: 150 })
    expect(outcome).toEqual(failure('timeout') as never)
  })
})

test('an answer before the request was read counts', async () => {
  const target = await listen('')
  targets.push(target)
  const run = aRun({ payload: `{"a":"${'x'.repeat(8_000_000)}"}` })
  const answered = push(`http://127.0.0.1:${target.port}/`, {}, { run })
  expect(await comes(() => target.open.size === 1)).toBe(true)
  for (const socket of target.open) {
    socket.pause()
    socket.write(http(503, '', 'retry-after: 7\r\n'))
  }
  expect(await answered).toEqual(failure('http_status', { retryAfterMs: 7_000 }) as never)
  for (const socket of target.open) socket.resume()
})

test('200 pushes at once leave no connection, and no listener on their signal', async () => {
  const target = await listen(http(200, '{}'))
  targets.push(target)
  const { signal } = new AbortController()
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = ((...args: Parameters<typeof add>) => {
    listeners++
    add(...args)
  }) as typeof add
  const removed = new Set<unknown>()
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
    if (!removed.has(args[1])) listeners--
    removed.add(args[1])
    remove(...args)
  }) as typeof remove
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, () => push(`http://127.0.0.1:${target.port}/`, { signal })),
  )
  expect(outcomes.filter(({ status }) => status !== 'succeeded')).toEqual([])
  expect(target.connections).toBe(200)
  expect(listeners).toBe(0)
})
