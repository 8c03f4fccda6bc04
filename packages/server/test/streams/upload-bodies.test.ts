import { afterAll, describe, expect, test } from 'bun:test'
import { CubbyError } from '../../src/core/errors.ts'
import { bodyChunksFreeMax, uploadProgressBytesMin } from '../../src/core/limits.ts'
import { SmallChunks } from '../../src/http/small-chunks.ts'
import { ChunkedBody, UploadBodies, UploadProgress } from '../../src/http/upload-body.ts'
import { holdClock } from '../held-timers.ts'

// The bodies of uploads, on a clock that only the tests move.

const idleMsMax = 100
const clock = holdClock()
const smallChunks = new SmallChunks()
const bodies = new UploadBodies(smallChunks, idleMsMax)
afterAll(() => {
  bodies.stop()
  clock.release()
})

/** Lets everything run that can. */
const settled = (): Promise<void> => Bun.sleep(2)

/** The bytes that must arrive in the time. */
const enough = 'x'.repeat(uploadProgressBytesMin)

/** A body that sends these pieces, pausing before each, and then ends or stays silent. */
const bodyOf = (pieces: string[], pauseMs: number, ends: boolean): ReadableStream<Uint8Array> => {
  const left = [...pieces]
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await settled()
      clock.move(pauseMs)
      await settled()
      const piece = left.shift()
      if (piece !== undefined) controller.enqueue(Buffer.from(piece))
      else if (ends) controller.close()
      else await new Promise(() => {})
    },
  })
}

const read = async (body: ReadableStream<Uint8Array>, isChunked: boolean, keySeq = 1): Promise<string> => {
  const request = new Request('http://127.0.0.1/', { method: 'PUT', body })
  const chunked = isChunked ? new ChunkedBody(request.body!) : undefined
  let text = ''
  const collect = async (): Promise<string> => {
    for await (const piece of bodies.pieces(request, chunked, new UploadProgress()))
      text += Buffer.from(piece).toString()
    return text
  }
  if (chunked === undefined) return collect()
  try {
    return await bodies.run(chunked, keySeq, false, collect)
  } finally {
    chunked.cancel()
  }
}

const faultOf = (reading: Promise<string>): Promise<unknown> =>
  reading.then(
    (text) => text,
    (error) => (error instanceof CubbyError ? [error.code, error.message] : error),
  )

/** Moves the clock until the body is given up: what is said then, and how far the clock was moved. */
const waitForFault = async (reading: Promise<string>): Promise<{ fault: unknown; movedMs: number }> => {
  let fault: unknown
  faultOf(reading).then((found) => {
    fault = found
  })
  let movedMs = 0
  await settled()
  for (; fault === undefined && movedMs < 10 * idleMsMax; movedMs += 10) {
    clock.move(10)
    await settled()
  }
  return { fault, movedMs }
}

const silent = [
  'unavailable',
  expect.stringContaining(`Fewer than ${uploadProgressBytesMin} bytes of the file arrived`),
]

describe.each([false, true])('a body, chunked: %p', (isChunked) => {
  test('that is silent for too long is given up', async () => {
    const { fault, movedMs } = await waitForFault(read(bodyOf(['a'], 0, false), isChunked))
    expect(fault).toEqual(silent)
    expect(movedMs).toBeGreaterThanOrEqual(idleMsMax)
  })

  test('may take any time, as long as enough arrives', async () => {
    const pieces = Array.from({ length: 8 }, (_, n) => enough + n)
    expect(await read(bodyOf(pieces, idleMsMax - 1, true), isChunked)).toBe(pieces.join(''))
  })

  test('that drips is given up when too little has arrived in the time', async () => {
    for (const drop of ['a', enough.slice(0, uploadProgressBytesMin / 4)]) {
      const startedAtMs = performance.now()
      const drips = bodyOf(Array(20).fill(drop), idleMsMax / 3, true)
      expect(await faultOf(read(drips, isChunked))).toEqual(silent)
      expect(performance.now() - startedAtMs).toBeLessThan(2 * idleMsMax)
    }
  })

  test('is judged anew after each part that was enough; the rest may be less', async () => {
    const halves = Array(8).fill(enough.slice(0, uploadProgressBytesMin / 2))
    expect(await read(bodyOf([...halves, 'rest'], idleMsMax / 2 - 1, true), isChunked)).toBe(`${halves.join('')}rest`)
  })

  test('may be taken as slowly as the server wants: only the time for which it waits counts', async () => {
    const body = bodyOf(['a', 'b', 'c', 'd'], 0, true)
    const request = new Request('http://127.0.0.1/', { method: 'PUT', body })
    let text = ''
    const chunked = isChunked ? new ChunkedBody(request.body!) : undefined
    for await (const piece of bodies.pieces(request, chunked, new UploadProgress())) {
      text += Buffer.from(piece).toString()
      clock.move(idleMsMax)
      await settled()
    }
    expect(text).toBe('abcd')
  })
})

describe('a small body of a declared length, read whole', () => {
  let counts: { receivedBytes: number }
  const whole = async (body: ReadableStream<Uint8Array> | string, bytes: number): Promise<string> => {
    counts = { receivedBytes: 0 }
    const request = new Request('http://127.0.0.1/', { method: 'PUT', body: bytes === 0 ? undefined : body })
    return Buffer.from(await bodies.whole(request, bytes, new UploadProgress(), counts)).toString()
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
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const piece of pieces) controller.enqueue(Buffer.from(piece))
        },
        cancel() {
          isCancelled = true
        },
      })
      const { fault, movedMs } = await waitForFault(whole(body, 2))
      expect(fault).toEqual(silent)
      expect(movedMs).toBeGreaterThanOrEqual(idleMsMax)
      expect(isCancelled).toBe(true)
    }
  })

  test('must be there as a whole in the time, however it drips', async () => {
    const pieces = Array.from({ length: 8 }, (_, n) => String(n))
    expect(await whole(bodyOf(pieces, idleMsMax / 8 - 1, true), 8)).toBe('01234567')
    expect(await faultOf(whole(bodyOf(pieces, idleMsMax / 3, true), 8))).toEqual(silent)
  })

  test('that ends before its end, or breaks, is not taken', async () => {
    const broken = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('reset')) })
    for (const body of [bodyOf(['a'], 0, true), broken]) {
      expect(await faultOf(whole(body, 2))).toEqual(['invalid_request', 'The body ended before it was complete.'])
      // The bytes that did arrive are in the request log and in the metrics.
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
  for await (const _ of bodies.pieces(request, undefined, new UploadProgress())) break
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
