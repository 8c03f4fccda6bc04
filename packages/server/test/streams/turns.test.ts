import { expect, test } from 'bun:test'
import { Admission } from '../../src/http/admit.ts'
import { AnswerEnds } from '../../src/http/answer-ends.ts'
import { Answers } from '../../src/http/answers.ts'
import { Arrivals } from '../../src/http/arrivals.ts'
import type { Authenticator } from '../../src/http/authenticate.ts'
import { BodyReader } from '../../src/http/body.ts'
import { FineChunks } from '../../src/http/fine-chunks.ts'
import { RequestExchange } from '../../src/http/request-exchange.ts'
import type { Route } from '../../src/http/routes.ts'
import { Turns } from '../../src/http/turns.ts'
import { UploadBodies } from '../../src/http/upload-body.ts'
import { Uploads } from '../../src/http/uploads.ts'

// What a handler does with each chunk it does on the thread that serves everybody. Without a turn for each chunk, one
// large stream would run to its end while small requests of others wait.

const busy = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const chunks = 30

/** An exchange of organization 1 with a body that has arrived already, and the turns that it shares with others. */
const makeExchange = () => {
  const turns = new Turns()
  const shared = {
    authenticator: { authenticate: () => undefined } as unknown as Authenticator,
    admission: new Admission(),
    bodies: new BodyReader(),
    turns,
    arrivals: new Arrivals(turns),
    answers: new Answers(),
    answerEnds: new AnswerEnds(),
    log: () => {},
    setIdleTimeout: () => {},
    uploads: new Uploads(),
    uploadBodies: new UploadBodies(new FineChunks()),
    now: Date.now,
    baseUrlOf: () => '',
  }
  let left = chunks
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => (left-- > 0 ? controller.enqueue(new Uint8Array(1_000)) : controller.close()),
  })
  const request = new Request('http://127.0.0.1/', { method: 'PUT', body })
  const route = { keyNeeded: 'write', body: 'stream' } as Route
  const exchange = new RequestExchange(request, {}, 'id', route, shared)
  const nothing = undefined as never
  exchange.access = { engine: nothing, apiKey: { orgId: 1, seq: 1 } as never, place: undefined, tasks: nothing }
  const stop = (): void => {
    shared.bodies.stop()
    shared.uploadBodies.stop()
    shared.turns.stop()
  }
  return { exchange, turns, stop }
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
  const { exchange, turns, stop } = makeExchange()
  const served: string[] = []
  const others: Promise<void>[] = []
  for await (const _ of exchange.readStream(1_000_000)) {
    if (others.length === 0) others.push(...serveOthers(turns, served))
    busy(6)
    served.push('chunk')
  }
  await Promise.all(others)
  stop()
  expect(served.filter((what) => what === 'chunk').length).toBe(chunks)
  expect(chunksBeforeOthers(served)).toBeLessThan(5)
})

test('an answer that is made in chunks does so too', async () => {
  const { exchange, turns, stop } = makeExchange()
  const served: string[] = []
  const others: Promise<void>[] = []
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < chunks; n++) {
      if (others.length === 0) others.push(...serveOthers(turns, served))
      busy(6)
      served.push('chunk')
      yield new Uint8Array(1_000)
    }
  }
  for await (const _ of exchange.streamOf(source())!);
  await Promise.all(others)
  stop()
  expect(served.filter((what) => what === 'chunk').length).toBe(chunks)
  expect(chunksBeforeOthers(served)).toBeLessThan(5)
})
