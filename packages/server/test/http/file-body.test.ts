import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import {
  connectionIdleSecondsMax,
  fileIdleMsMax,
  readerBytesPerSecondMin,
  readerCheckedAfterMs,
  responsesUnsentBytesMax,
} from '../../src/core/limits.ts'
import { type DownloadRefusal, Downloads } from '../../src/http/downloads.ts'
import { fileBody, type StoredBytes, wholeFileBytesMax } from '../../src/http/file-body.ts'
import { ResponseBodies } from '../../src/http/response-bodies.ts'
import { ResponseEnds } from '../../src/http/response-ends.ts'
import type { BlobStore } from '../../src/store/blob-store.ts'
import { eventually } from '../harness.ts'
import { holdClock } from '../held-timers.ts'
import { sha256 } from './bucket.ts'

// These test how long a reader may take nothing, and how much unread files may hold: over HTTP the first takes half a
// minute to see.

const idleSeconds = fileIdleMsMax / 1000
const mib = 1024 * 1024
/** The first pieces of a stream. */
const pieceBytes = 64 * 1024
/** The room that a stream needs to begin. */
const roomBytes = 256 * 1024

const stage = (chunksOf?: () => AsyncGenerator<Uint8Array, void>) => {
  const idle: number[] = []
  const open = new Set<Request>()
  const responseEnds = new ResponseEnds()
  responseEnds.isOpen = (request) => open.has(request)
  let sources = 0
  const refusals: DownloadRefusal[] = []
  const logged: string[] = []
  /** The bytes that the system holds for each request, by the port of its connection. */
  const queues = new Map<number, number>()
  const ports: Request[] = []
  const downloads = new Downloads(
    (reason) => void refusals.push(reason),
    async () => (peer) => queues.get(peer.port) ?? 0,
  )
  downloads.peerOf = (request) => ({ address: '127.0.0.1', port: ports.indexOf(request), localPort: 80 })
  async function* bytes(length: number): AsyncGenerator<Uint8Array, void> {
    sources++
    try {
      for (let at = 0; at < length; at += 256 * 1024) yield new Uint8Array(Math.min(256 * 1024, length - at))
    } finally {
      sources--
    }
  }
  const place = {
    description: 'nowhere',
    read: async (_: string, start: number, end: number) => chunksOf?.() ?? bytes(end - start),
  }
  const sending = {
    responseBodies: new ResponseBodies(),
    responseEnds,
    downloads,
    log: (_: string, message: string) => void logged.push(message),
    setIdleTimeout: (_: Request, seconds: number) => void idle.push(seconds),
  }
  const ask = (length: number, orgId = 1, digests?: StoredBytes['digests']) => {
    const request = new Request('http://x/')
    open.add(request)
    const port = ports.push(request) - 1
    const reader = { request, requestId: 'r', orgId, keySeq: 1, turn: async () => {} }
    const source = place as unknown as BlobStore
    const body = fileBody(sending, reader, { source, blob: 'b', start: 0, end: length, digests })
    return { request, body, port }
  }
  return { idle, open, responseEnds, ask, sources: () => sources, refusals, queues, logged }
}

let ends: ResponseEnds | undefined
afterEach(() => ends?.stop())

test('a reader may take nothing for 30 s, whether the bytes are sent at once or as a stream', async () => {
  expect(idleSeconds).toBe(30)
  const { idle, ask, responseEnds } = stage()
  ends = responseEnds
  expect(await ask(wholeFileBytesMax).body).toBeInstanceOf(Uint8Array)
  expect(idle).toEqual([idleSeconds])
  const stream = (await ask(wholeFileBytesMax + 1).body) as ReadableStream<Uint8Array>
  const reader = stream.getReader()
  idle.length = 0
  await reader.read()
  // While we read from the place, the client waits for us; then we wait for the client.
  expect(idle).toEqual([connectionIdleSecondsMax, idleSeconds])
  await reader.cancel()
  expect(idle.at(-1)).toBe(connectionIdleSecondsMax)
})

describe('a stream whose source', () => {
  /** One of so many bytes, and whether its source was told to stop. */
  const askFor = (lengths: number[], bytes: number, atEnd?: () => Promise<void>) => {
    const source = { isOver: false }
    const staged = stage(async function* () {
      try {
        for (const length of lengths) yield new Uint8Array(length)
        await atEnd?.()
      } finally {
        source.isOver = true
      }
    })
    ends = staged.responseEnds
    return { ...staged, source, body: staged.ask(bytes).body as Promise<ReadableStream<Uint8Array>> }
  }

  test('gives empty chunks and large ones is sent in pieces, none of them empty', async () => {
    const { body, source } = askFor([0, 3 * mib, 0, 0, 1, 0], 3 * mib + 1)
    const pieces: number[] = []
    for await (const piece of await body) pieces.push(piece.length)
    expect(pieces).toEqual([...Array(48).fill(pieceBytes), 1])
    expect(source.isOver).toBe(true)
  })

  test.each([
    ['fails', [mib], () => Promise.reject(new Error('the source failed'))],
    ['has fewer bytes than the file', [mib], undefined],
    ['has more bytes than the file', [2 * mib, 1], undefined],
  ] as const)('%s breaks off, and the log says so: a part is never taken for the whole', async (_, lengths, atEnd) => {
    const { body, source, logged } = askFor([...lengths], 2 * mib, atEnd)
    const reader = (await body).getReader()
    const readAll = async (): Promise<void> => {
      while (!(await reader.read()).done);
    }
    expect(
      await readAll().then(
        () => 'ended',
        () => 'broken',
      ),
    ).toBe('broken')
    expect(logged).toEqual(['answer cut off'])
    await eventually('the source has stopped', () => source.isOver || undefined)
  })

  test('makes its reader wait holds nothing any more when the reader has gone away', async () => {
    const { ask, responseEnds, refusals } = stage(async function* () {
      await new Promise(() => {})
    })
    ends = responseEnds
    const count = responsesUnsentBytesMax / 4 / roomBytes
    const askMany = () => Promise.all(Array.from({ length: count }, () => ask(2 * mib).body))
    for (let n = 0; n < 2; n++) {
      const readers = ((await askMany()) as ReadableStream<Uint8Array>[]).map((stream) => stream.getReader())
      for (const reader of readers) reader.read().catch(() => {})
      await expect(ask(2 * mib).body).rejects.toThrow('still unread')
      for (const reader of readers) await reader.cancel()
    }
    expect(refusals).toEqual(['full', 'full'])
  })
})

test('unread bytes are bounded: whole answers first, then streams, then none; the room comes back', async () => {
  const { open, ask, responseEnds, sources, refusals } = stage()
  ends = responseEnds
  const quarter = responsesUnsentBytesMax / 4
  // A quarter of a key's room is left for streams.
  const whole = Array.from({ length: (quarter * 0.75) / mib }, () => ask(mib))
  for (const { body } of whole) expect(await body).toBeInstanceOf(Uint8Array)
  const small = await ask(mib).body
  expect(small).toBeInstanceOf(ReadableStream)
  await (small as ReadableStream).cancel()
  open.delete(whole[0]!.request)
  // One ended: there is room for another at once, before the next look.
  expect(await ask(mib).body).toBeInstanceOf(Uint8Array)
  const streams = Array.from({ length: quarter / 4 / roomBytes }, () => ask(10 * mib).body)
  for (const body of streams) expect(await body).toBeInstanceOf(ReadableStream)
  expect(refusals).toEqual([])
  await expect(ask(10 * mib).body).rejects.toThrow('unread')
  expect(refusals).toEqual(['full'])
  for (const body of streams) await ((await body) as ReadableStream).cancel()
  await eventually('the sources are closed', () => (sources() === 0 ? true : undefined))
  expect(await ask(10 * mib).body).toBeInstanceOf(ReadableStream)
})

test('changed bytes of a file up to 1 MiB are an error also if it must be a stream; a longer one breaks off before its last chunk', async () => {
  const { ask, responseEnds, refusals, sources } = stage()
  ends = responseEnds
  const right = (bytes: number) => ({
    sha256: sha256(new Uint8Array(bytes)),
    crc32: Bun.hash.crc32(new Uint8Array(bytes)),
  })
  const wrong = { sha256: sha256('other'), crc32: 1 }
  while (!((await ask(mib).body) instanceof ReadableStream));
  const whole = (await ask(mib, 1, right(mib)).body) as ReadableStream<Uint8Array>
  expect(await new Response(whole).bytes()).toEqual(new Uint8Array(mib))
  expect(refusals).toEqual([])
  await expect(ask(mib, 1, wrong).body).rejects.toThrow('not those that were uploaded')
  expect(refusals).toEqual(['damaged'])
  // Without a CRC-32 the SHA-256 decides.
  for (const digests of [right(3 * mib), { sha256: right(3 * mib).sha256 }]) {
    const body = (await ask(3 * mib, 2, digests).body) as ReadableStream<Uint8Array>
    expect((await new Response(body).bytes()).length).toBe(3 * mib)
  }
  for (const digests of [wrong, { sha256: wrong.sha256 }]) {
    const body = (await ask(3 * mib, 2, digests).body) as ReadableStream<Uint8Array>
    let bytes = 0
    await expect(
      (async () => {
        for await (const piece of body) bytes += piece.length
      })(),
    ).rejects.toBeUndefined()
    expect(bytes).toBe(3 * mib - roomBytes)
  }
  expect(refusals).toEqual(['damaged', 'damaged', 'damaged'])
  await eventually('only the first stream is open', () => (sources() <= 1 ? true : undefined))
})

describe('when the room is used up', () => {
  const clock = holdClock()
  afterAll(() => clock.release())

  type Stage = ReturnType<typeof stage>
  /** Opens streams until there is no room, each of which has given its first piece to Bun. */
  const fill = async ({ ask }: Stage) => {
    const opened = []
    for (;;) {
      const { body, port } = ask(10 * mib)
      const stream = (await body.catch(() => undefined)) as ReadableStream<Uint8Array> | undefined
      if (stream === undefined) return opened
      const reader = stream.getReader()
      await reader.read()
      opened.push({ reader, port })
    }
  }
  const isCut = async ({ reader }: { reader: { readonly closed: Promise<unknown> } }): Promise<boolean> => {
    let state: 'open' | 'cut' = 'open'
    reader.closed.catch(() => {
      state = 'cut'
    })
    await Bun.sleep(1)
    return (state as string) === 'cut'
  }
  const cutAmong = async (opened: Awaited<ReturnType<typeof fill>>): Promise<number[]> => {
    const cuts = await Promise.all(opened.map(isCut))
    return opened.filter((_, n) => cuts[n]).map(({ port }) => port)
  }
  const tryAsk = ({ ask }: Stage): Promise<unknown> =>
    ask(10 * mib).body.then(
      (body) => body,
      (error) => error.code,
    )

  test('the slowest reader is cut, and the newcomer has its room', async () => {
    const made = stage()
    const opened = await fill(made)
    // All have taken their piece, but for what the system holds: these three have taken less, the second the least.
    clock.move(2 * readerCheckedAfterMs)
    for (const [n, bytes] of [10_000, 40_000, 20_000].entries()) made.queues.set(opened[n]!.port, bytes)
    expect(await tryAsk(made)).toBeInstanceOf(ReadableStream)
    expect(await cutAmong(opened)).toEqual([opened[1]!.port])
    expect(made.refusals).toEqual(['full', 'slow'])
    // A stream holds what is left of its chunk, so the room of one may be enough for several.
    while ((await cutAmong(opened)).length < 3) expect(await tryAsk(made)).toBeInstanceOf(ReadableStream)
    expect(await cutAmong(opened)).toEqual(opened.slice(0, 3).map(({ port }) => port))
    await eventually('the sources of those are closed', () => made.sources() >= opened.length - 3 || undefined)
  })

  test(`nobody is cut in the first ${readerCheckedAfterMs / 1_000} s, nor who has taken ${readerBytesPerSecondMin} bytes a second`, async () => {
    const made = stage()
    const opened = await fill(made)
    const { port } = opened[0]!
    made.queues.set(port, pieceBytes)
    clock.move(readerCheckedAfterMs - 1)
    expect(await tryAsk(made)).toBe('unavailable')
    clock.move(1)
    // Of the others the first piece alone is more than enough until now; it has taken just enough itself.
    made.queues.set(port, pieceBytes - (readerCheckedAfterMs / 1_000) * readerBytesPerSecondMin)
    expect(await tryAsk(made)).toBe('unavailable')
    expect(await cutAmong(opened)).toEqual([])
    // A reader that has taken more since does not lose its place; others do.
    clock.move(2 * readerCheckedAfterMs)
    await opened[0]!.reader.read()
    await opened[0]!.reader.read()
    // The bytes that it has taken since are room already; the others must be cut for more.
    for (let n = 0; n < 10; n++) expect(await tryAsk(made)).toBeInstanceOf(ReadableStream)
    const cut = await cutAmong(opened)
    expect(cut).not.toContain(port)
    expect(cut.length).toBeGreaterThan(0)
  })

  test('readers of other organizations keep their room', async () => {
    const made = stage()
    const other = await made.ask(10 * mib, 2).body
    const opened = await fill(made)
    clock.move(100 * readerCheckedAfterMs)
    expect(await tryAsk(made)).toBeInstanceOf(ReadableStream)
    expect((await cutAmong(opened)).length).toBe(1)
    expect(await isCut({ reader: (other as ReadableStream<Uint8Array>).getReader() })).toBe(false)
  })

  test('a reader that took nothing until its connection ended counts as idle', async () => {
    const made = stage()
    const streams = [await made.ask(10 * mib).body, await made.ask(10 * mib).body] as ReadableStream<Uint8Array>[]
    const readers = streams.map((stream) => stream.getReader())
    for (const reader of readers) await reader.read()
    clock.move(fileIdleMsMax - 1)
    await readers[0]!.cancel()
    expect(made.refusals).toEqual([])
    clock.move(1)
    await readers[1]!.cancel()
    expect(made.refusals).toEqual(['idle'])
  })
})
