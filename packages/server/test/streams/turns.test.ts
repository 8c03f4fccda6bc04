import { drainMicrotasks } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { Admission } from '../../src/http/admit.ts'
import { Arrivals } from '../../src/http/arrivals.ts'
import type { Authenticator } from '../../src/http/authenticate.ts'
import { BodyReader } from '../../src/http/body.ts'
import { Downloads } from '../../src/http/downloads.ts'
import { Feeds } from '../../src/http/feeds.ts'
import { Loads } from '../../src/http/loads.ts'
import { Pipeline, type PipelineOptions } from '../../src/http/pipeline.ts'
import { RequestExchange } from '../../src/http/request-exchange.ts'
import { ResponseBodies } from '../../src/http/response-bodies.ts'
import { ResponseEnds } from '../../src/http/response-ends.ts'
import type { Route } from '../../src/http/routes.ts'
import { SmallChunks } from '../../src/http/small-chunks.ts'
import { Turns } from '../../src/http/turns.ts'
import { UploadBodies, UploadProgress } from '../../src/http/upload-body.ts'
import { Uploads } from '../../src/http/uploads.ts'
import { UserWaits } from '../../src/http/user-waits.ts'
import type { BytesSource } from '../../src/operations/files/bytes-source.ts'

// A handler works at each chunk on the thread that serves everybody. Without a turn for each chunk, one large stream would
// run to its end while small requests of others wait.

const busy = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const chunks = 30
const chunkBytes = 1_000

const nothing = undefined as never
const access = {
  ...{ engine: nothing, apiKey: { orgId: 1, seq: 1 } as never, blobStore: undefined },
  ...{ tasks: nothing, logins: nothing },
}

/** Exchanges of organization 1, each with a body of so many chunks that has arrived already, and the turns that they share. */
const makeExchanges = (count = 1, chunksOfEach = chunks) => {
  const turns = new Turns()
  const userWaits = new UserWaits()
  const counts = { authenticated: 0, refuses: false }
  const chunksMade: Uint8Array[] = []
  const authenticate = (): void => {
    counts.authenticated++
    if (counts.refuses) throw new Error('revoked')
  }
  const shared = {
    authenticator: { authenticate } as unknown as Authenticator,
    admission: new Admission(),
    bodies: new BodyReader(),
    turns,
    arrivals: new Arrivals(turns),
    responseBodies: new ResponseBodies(),
    responseEnds: new ResponseEnds(),
    downloads: new Downloads(),
    log: () => {},
    setIdleTimeout: () => {},
    uploads: new Uploads(),
    feeds: new Feeds({ follow: () => () => {} }, turns, userWaits, { now: Date.now, log: () => {} }),
    userWaits,
    loads: new Loads(),
    uploadBodies: new UploadBodies(new SmallChunks()),
    replays: 0,
    now: Date.now,
    baseUrlOf: () => '',
  }
  const exchanges = Array.from({ length: count }, () => {
    let left = chunksOfEach
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- === 0) return controller.close()
        chunksMade.push(new Uint8Array(chunkBytes))
        controller.enqueue(chunksMade.at(-1)!)
      },
    })
    const request = new Request('http://127.0.0.1/', { method: 'PUT', body })
    const route = { keyNeeded: 'write', body: 'upload' } as Route
    const exchange = new RequestExchange(request, {}, 'id', route, shared)
    exchange.access = access
    return exchange
  })
  const stop = (): void => {
    shared.bodies.stop()
    shared.uploadBodies.stop()
    shared.turns.stop()
  }
  return { exchanges, exchange: exchanges[0]!, turns, counts, chunksMade, stop }
}

/** Ten small requests of organization 2, which come when the first chunk is worked on. */
const serveOthers = (turns: Turns, served: string[]): Promise<void>[] =>
  Array.from({ length: 10 }, async () => {
    await turns.wait(2, 2)
    turns.begin(2, 2, true)
    served.push('other')
  })

const chunksBeforeOthers = (served: string[]): number =>
  served.slice(0, served.lastIndexOf('other')).filter((what) => what === 'chunk').length

test('a body that is read in chunks lets others have their turn between them', async () => {
  const { exchange, turns, stop } = makeExchanges()
  const served: string[] = []
  const others: Promise<void>[] = []
  for await (const _ of exchange.readUpload(new UploadProgress())) {
    if (others.length === 0) others.push(...serveOthers(turns, served))
    busy(6)
    served.push('chunk')
  }
  await Promise.all(others)
  stop()
  expect(served.filter((what) => what === 'chunk').length).toBe(chunks)
  expect(chunksBeforeOthers(served)).toBeLessThan(5)
})

test('a file that is sent in chunks does so too', async () => {
  const { exchange, turns, stop } = makeExchanges()
  const served: string[] = []
  const others: Promise<void>[] = []
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < chunks; n++) {
      if (others.length === 0) others.push(...serveOthers(turns, served))
      busy(6)
      served.push('chunk')
      yield new Uint8Array(256 * 1024)
    }
  }
  const place = { description: 'nowhere', read: async () => source() } as unknown as BytesSource
  const body = await exchange.fileBodyOf({ source: place, blob: 'b', start: 0, end: chunks * 256 * 1024 })
  for await (const _ of body as ReadableStream<Uint8Array>);
  await Promise.all(others)
  stop()
  expect(served.filter((what) => what === 'chunk').length).toBe(chunks)
  expect(chunksBeforeOthers(served)).toBeLessThan(5)
})

test('small files that are read whole wait for their turn each, in one piece or several', async () => {
  for (const chunksOfEach of [1, 3]) {
    const { exchanges, turns, counts, stop } = makeExchanges(chunks, chunksOfEach)
    const served: string[] = []
    const others: Promise<void>[] = []
    const store = async (exchange: RequestExchange): Promise<void> => {
      const whole = await exchange.readSmallUpload(chunksOfEach * chunkBytes, new UploadProgress())
      if (others.length === 0) others.push(...serveOthers(turns, served))
      expect(whole.length).toBe(chunksOfEach * chunkBytes)
      expect(exchange.receivedBytes).toBe(whole.length)
      busy(6)
      served.push('chunk')
    }
    const reading = exchanges.map((exchange) => {
      const stored = store(exchange)
      // The server drains microtasks after each collected request, and after each read from a socket.
      drainMicrotasks()
      return stored
    })
    await Promise.all(reading)
    await Promise.all(others)
    stop()
    expect(served.filter((what) => what === 'chunk').length).toBe(chunks)
    expect(chunksBeforeOthers(served)).toBeLessThan(5)
    // The key may have been revoked while the bytes arrived.
    expect(counts.authenticated).toBe(chunks)
  }
})

test('a small file whose key was revoked meanwhile is refused, and its memory is free at once', async () => {
  const { exchanges, chunksMade, counts, stop } = makeExchanges(1, 1)
  counts.refuses = true
  await expect(exchanges[0]!.readSmallUpload(chunkBytes, new UploadProgress())).rejects.toThrow('revoked')
  stop()
  expect(chunksMade.map(({ length }) => length)).toEqual([0])
})

test('uploads of small files that arrive together run together for some milliseconds, and then wait, with a valid key', async () => {
  const pipeline = new Pipeline({ engine: {}, log: () => {}, now: Date.now } as unknown as PipelineOptions)
  const { turns } = pipeline
  let authenticated = 0
  const authenticate = (exchange: RequestExchange): void => {
    authenticated++
    exchange.access = access
  }
  Object.assign(pipeline, { authenticator: { authenticate } })
  const served: string[] = []
  const others: Promise<void>[] = []
  const route = {
    ...{ keyNeeded: 'write', body: 'upload', operationId: 'putFile' },
    handler: async () => {
      if (others.length === 0) others.push(...serveOthers(turns, served))
      busy(6)
      served.push('chunk')
      return new Response()
    },
  } as unknown as Route
  const handle = pipeline.handlerFor('/x', { PUT: route })
  const requests = Array.from({ length: chunks }, () =>
    handle(
      new Request('http://127.0.0.1/x', { method: 'PUT', body: 'bytes', headers: { 'content-length': '5' } }) as never,
      nothing,
    ),
  )
  // Collected: none of them runs before all that have arrived are known.
  expect(served).toEqual([])
  await Promise.all(requests)
  await Promise.all(others)
  pipeline.stop()
  expect(served.filter((what) => what === 'chunk').length).toBe(chunks)
  expect(chunksBeforeOthers(served)).toBeLessThan(5)
  // Once when they arrived, and again after the wait: the key may have been revoked meanwhile. The first did not wait.
  expect(authenticated).toBe(2 * chunks - 1)
})
