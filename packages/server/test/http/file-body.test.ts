import { afterEach, expect, test } from 'bun:test'
import { answersUnsentBytesMax, connectionIdleSecondsMax, fileIdleMsMax } from '../../src/core/limits.ts'
import { AnswerEnds } from '../../src/http/answer-ends.ts'
import { Answers } from '../../src/http/answers.ts'
import { fileBody, wholeFileBytesMax } from '../../src/http/file-body.ts'
import type { BlobPlace } from '../../src/store/blob-place.ts'
import { eventually } from '../harness.ts'

// How long a reader may take nothing, and how much unread files may hold: over HTTP the first takes half a minute to see.

const idleSeconds = fileIdleMsMax / 1000
const mib = 1024 * 1024

const stage = () => {
  const idle: number[] = []
  const open = new Set<Request>()
  const answerEnds = new AnswerEnds()
  answerEnds.isOpen = (request) => open.has(request)
  let sources = 0
  async function* bytes(length: number): AsyncGenerator<Uint8Array, void> {
    sources++
    try {
      for (let at = 0; at < length; at += 256 * 1024) yield new Uint8Array(Math.min(256 * 1024, length - at))
    } finally {
      sources--
    }
  }
  const place = { description: 'nowhere', read: async (_: string, start: number, end: number) => bytes(end - start) }
  const sending = {
    answers: new Answers(),
    answerEnds,
    log: () => {},
    setIdleTimeout: (_: Request, seconds: number) => void idle.push(seconds),
  }
  const ask = (length: number) => {
    const request = new Request('http://x/')
    open.add(request)
    const reader = { request, requestId: 'r', orgId: 1, keySeq: 1, turn: async () => {} }
    const body = fileBody(sending, reader, { source: place as unknown as BlobPlace, blob: 'b', start: 0, end: length })
    return { request, body }
  }
  return { idle, open, answerEnds, ask, sources: () => sources }
}

let ends: AnswerEnds | undefined
afterEach(() => ends?.stop())

test('a reader may take nothing for 30 s, whether the bytes are sent at once or as a stream', async () => {
  expect(idleSeconds).toBe(30)
  const { idle, ask, answerEnds } = stage()
  ends = answerEnds
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

test('unread bytes are bounded: whole answers first, then streams, then none; the room comes back', async () => {
  const { open, ask, answerEnds, sources } = stage()
  ends = answerEnds
  const quarter = answersUnsentBytesMax / 4
  const whole = Array.from({ length: quarter / mib }, () => ask(mib))
  for (const { body } of whole) expect(await body).toBeInstanceOf(Uint8Array)
  expect(ask(mib).body).rejects.toThrow('unread')
  open.delete(whole[0]!.request)
  // One ended: there is room for another at once, before the next look.
  expect(await ask(mib).body).toBeInstanceOf(Uint8Array)
  open.delete(whole[1]!.request)
  open.delete(whole[2]!.request)
  answerEnds.look()
  const streams = Array.from({ length: 8 }, () => ask(10 * mib).body) as Promise<ReadableStream<Uint8Array>>[]
  for (const body of streams) expect(await body).toBeInstanceOf(ReadableStream)
  expect(ask(10 * mib).body).rejects.toThrow('unread')
  for (const body of streams) await (await body).cancel()
  await eventually('the sources are closed', () => (sources() === 0 ? true : undefined))
  expect(await ask(10 * mib).body).toBeInstanceOf(ReadableStream)
})
