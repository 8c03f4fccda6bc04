import { afterAll, describe, expect, test } from 'bun:test'
import { CubbyError } from '../../src/core/errors.ts'
import { bodyChunksFreeMax } from '../../src/core/limits.ts'
import { FineChunks } from '../../src/http/fine-chunks.ts'
import { ChunkedBody, UploadBodies } from '../../src/http/upload-body.ts'

// The bodies of uploads, with a short time limit: over HTTP it is half a minute.

const idleMsMax = 100
const fineChunks = new FineChunks()
const bodies = new UploadBodies(fineChunks, idleMsMax)
afterAll(() => bodies.stop())

/** A body that sends these pieces, pausing before each, and then ends or stays silent. */
const bodyOf = (pieces: string[], pauseMs: number, ends: boolean): ReadableStream<Uint8Array> => {
  const left = [...pieces]
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(pauseMs)
      const piece = left.shift()
      if (piece !== undefined) controller.enqueue(Buffer.from(piece))
      else if (ends) controller.close()
      else await new Promise(() => {})
    },
  })
}

const read = async (
  body: ReadableStream<Uint8Array>,
  isChunked: boolean,
  keySeq = 1,
  from = bodies,
): Promise<string> => {
  const request = new Request('http://127.0.0.1/', { method: 'PUT', body })
  const chunked = isChunked ? new ChunkedBody(request.body!) : undefined
  let text = ''
  const collect = async (): Promise<string> => {
    for await (const piece of from.pieces(request, chunked)) text += Buffer.from(piece).toString()
    return text
  }
  return chunked === undefined ? collect() : from.run(chunked, keySeq, collect)
}

const faultOf = (reading: Promise<string>): Promise<unknown> =>
  reading.then(
    (text) => text,
    (error) => (error instanceof CubbyError ? [error.code, error.message] : error),
  )

describe.each([false, true])('a body, chunked: %p', (isChunked) => {
  test('that is silent for too long is given up', async () => {
    const startedAtMs = performance.now()
    const fault = (await faultOf(read(bodyOf(['a'], 0, false), isChunked))) as string[]
    expect(fault[0]).toBe('unavailable')
    expect(fault[1]).toContain('Nothing of the file arrived within')
    expect(performance.now() - startedAtMs).toBeGreaterThan(idleMsMax - 1)
  })

  test('may take any time, as long as something arrives', async () => {
    // A pause of the machine may be longer than those of the body.
    const patient = new UploadBodies(fineChunks, 3_000)
    try {
      const pieces = Array.from({ length: 8 }, (_, n) => String(n))
      expect(await read(bodyOf(pieces, 500, true), isChunked, 1, patient)).toBe('01234567')
    } finally {
      patient.stop()
    }
  })
})

describe('a small body of a declared length, read whole', () => {
  let counts: { receivedBytes: number }
  const whole = async (body: ReadableStream<Uint8Array> | string, bytes: number, from = bodies): Promise<string> => {
    counts = { receivedBytes: 0 }
    const request = new Request('http://127.0.0.1/', { method: 'PUT', body: bytes === 0 ? undefined : body })
    return Buffer.from(await from.whole(request, bytes, counts)).toString()
  }

  test('in one piece or in several, or empty', async () => {
    expect(await whole('abc', 3)).toBe('abc')
    expect(counts.receivedBytes).toBe(3)
    expect(await whole(bodyOf(['a', 'bcd', 'ef'], 0, true), 6)).toBe('abcdef')
    expect(counts.receivedBytes).toBe(6)
    expect(await whole('', 0)).toBe('')
    expect(counts.receivedBytes).toBe(0)
  })

  test('that is silent for too long is given up, from the start or later, and cancelled', async () => {
    for (const pieces of [[], ['a']]) {
      let isCancelled = false
      const silent = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const piece of pieces) controller.enqueue(Buffer.from(piece))
        },
        cancel() {
          isCancelled = true
        },
      })
      const startedAtMs = performance.now()
      const fault = (await faultOf(whole(silent, 2))) as string[]
      expect(fault).toEqual(['unavailable', expect.stringContaining('Nothing of the file arrived within')])
      expect(performance.now() - startedAtMs).toBeGreaterThan(idleMsMax - 1)
      expect(isCancelled).toBe(true)
    }
  })

  test('may take any time, as long as something arrives', async () => {
    const patient = new UploadBodies(fineChunks, 3_000)
    try {
      const pieces = Array.from({ length: 8 }, (_, n) => String(n))
      expect(await whole(bodyOf(pieces, 500, true), 8, patient)).toBe('01234567')
    } finally {
      patient.stop()
    }
  })

  test('that ends before its end, or breaks, is not taken', async () => {
    const broken = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('reset')) })
    for (const body of [bodyOf(['a'], 0, true), broken]) {
      expect(await faultOf(whole(body, 2))).toEqual(['invalid_request', 'The body ended before it was complete.'])
      // What did arrive is in the request log and in the metrics.
      expect(counts.receivedBytes).toBe(body === broken ? 0 : 1)
    }
  })
})

test('a reader that leaves early cancels the body', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(10)),
    cancel() {
      isCancelled = true
    },
  })
  const request = new Request('http://127.0.0.1/', { method: 'PUT', body })
  for await (const _ of bodies.pieces(request, undefined)) break
  expect(isCancelled).toBe(true)
})

test('a chunked body that is not taken is held within a bound', async () => {
  let sent = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        sent += 65_536
        controller.enqueue(new Uint8Array(65_536))
      },
    },
    { highWaterMark: 0 },
  )
  const chunked = new ChunkedBody(body)
  await Bun.sleep(50)
  expect(sent).toBeLessThanOrEqual(10 * 65_536)
  // Bun's stream may hold the next piece.
  expect((await chunked.next())!.length).toBeGreaterThanOrEqual(sent - 3 * 65_536)
  chunked.cancel()
})

test('a body of very many chunks is given up, and chunked bodies of its key wait for a moment', async () => {
  const pieces = Array.from({ length: bodyChunksFreeMax + 200 }, () => 'x')
  const left = [...pieces]
  const fine = (): ReadableStream<Uint8Array> =>
    new ReadableStream(
      {
        pull: (controller) => (left.length > 0 ? controller.enqueue(Buffer.from(left.pop()!)) : controller.close()),
      },
      { highWaterMark: 0 },
    )
  expect(((await faultOf(read(fine(), true, 7))) as string[])[0]).toBe('invalid_request')
  expect(((await faultOf(read(bodyOf(['a'], 0, true), true, 7))) as string[])[0]).toBe('unavailable')
  expect(await read(bodyOf(['a'], 0, true), true, 8)).toBe('a')
  expect(await read(bodyOf(['a'], 0, true), false, 7)).toBe('a')
})
