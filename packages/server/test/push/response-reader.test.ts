import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ResponseReader } from '../../src/push/response-reader.ts'

/** The outcome of an answer that comes in these pieces, and then ends. */
const read = (pieces: Buffer[]): unknown => {
  const reader = new ResponseReader()
  const outcome = (): unknown => {
    for (const piece of pieces) {
      const answer = reader.read(piece)
      if (answer !== undefined) return answer
    }
    return reader.end()
  }
  try {
    const { body, ...head } = outcome() as { body: Uint8Array | undefined }
    return { ...head, body: body && Buffer.from(body).toString('latin1'), cut: reader.cut }
  } catch (error) {
    return { message: (error as Error).message, cut: reader.cut }
  }
}

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const interim = 'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n'

const answers: string[] = [
  'HTTP/1.1 200 OK\r\nRetry-After: 7\r\ncontent-length: 7\r\n\r\n{"a":1}',
  'HTTP/1.1 200 OK\r\n\r\n{"a":1}',
  'HTTP/1.0 204\r\n\r\n',
  'HTTP/1.1 503 No\r\nretry-after:  7 \r\nretry-after: 8\r\n\r\nbody',
  `${chunked}1\r\n{\r\n06;a="b"\r\n"a":1}\r\n0\r\nx-a: b\r\n\r\nmore`,
  `${chunked}zz\r\n`,
  `${chunked}10001\r\n`,
  `\r\n${interim.repeat(16)}\r\nHTTP/1.1 201 Any\r\ncontent-length: 2\r\n\r\n{}`,
  interim.repeat(17),
  `HTTP/1.1 100 Continue\r\n${'a:\r\n'.repeat(20_000)}`,
  `HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(5_000)}`,
  'HTTP/1.1 101 Any\r\n\r\n',
  'HTTP/1.1 200 OK\ncontent-length: 0\n\n',
  'HTTP/1.1 200 OK\r\na b: c\r\n\r\n',
  'HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}',
  'SSH-2.0-any\r\n',
  '',
]

describe('an answer means the same in whatever pieces it comes', () => {
  for (const text of answers) {
    const bytes = Buffer.from(text, 'latin1')
    test(JSON.stringify(text.slice(0, 60)), () => {
      const whole = read([bytes])
      const cuts = fc.uniqueArray(fc.nat({ max: bytes.length }), { maxLength: 12 })
      fc.assert(
        fc.property(cuts, (at) => {
          const edges = [0, ...at.toSorted((a, b) => a - b), bytes.length]
          expect(read(edges.slice(1).map((end, i) => bytes.subarray(edges[i], end)))).toEqual(whole)
        }),
      )
      expect(read(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(whole)
    })
  }
})

test('the answers above are of every kind', () => {
  const found = answers.map((text) => read([Buffer.from(text, 'latin1')])) as Record<string, unknown>[]
  expect(found[0]).toEqual({ status: 200, retryAfter: '7', body: '{"a":1}', cut: undefined })
  expect(found[3]).toEqual({ status: 503, retryAfter: '7', body: undefined, cut: undefined })
  expect(found[4]).toMatchObject({ status: 200, body: '{"a":1}' })
  expect(found[7]).toMatchObject({ status: 201, body: '{}' })
  expect(found.map(({ cut }) => cut).filter((cut) => cut !== undefined)).toEqual(['body', 'interim', 'interim', 'head'])
  expect(new Set(found.map(({ message }) => message)).size).toBe(6)
})
