import type { Answer, Server } from '../harness.ts'

// All that the store of a version answers, in `expected.json` beside it.

export const dayMs = 24 * 60 * 60 * 1000

export interface ReplayedRequest {
  /** Which of the store's keys asks. */
  key: string
  method: string
  path: string
  /** JSON text. */
  body?: string
}

export interface Expected {
  /** What the clock showed when the store was written. */
  writtenAtMs: number
  /** The text of every API key, by what it is. */
  keys: Record<string, string>
  answers: (ReplayedRequest & ExpectedAnswer)[]
}

interface ExpectedAnswer {
  status: number
  /** Byte for byte; of an error, only its code. */
  text?: string
  code?: string
  /** Where the answer had a cursor: the answer to the same request with it. */
  next?: ExpectedAnswer
}

/** Asks, and gives the answer in the form in which it is kept. */
export const replay = async (server: Server, { keys }: Expected, request: ReplayedRequest): Promise<ExpectedAnswer> => {
  const { key, method, path, body } = request
  const answer = await server.as(keys[key]!).request(method, path, body)
  const kept = keep(answer)
  const cursor = answer.body?.cursor
  if (typeof cursor !== 'string') return kept
  return { ...kept, next: await replayNext(server, keys, request, cursor) }
}

/** The same request with a cursor. */
const replayNext = async (
  server: Server,
  keys: Expected['keys'],
  { key, method, path, body }: ReplayedRequest,
  cursor: string,
): Promise<ExpectedAnswer> => {
  const onward =
    body === undefined
      ? { path: `${path}&cursor=${cursor}` }
      : { body: JSON.stringify({ ...JSON.parse(body), cursor }) }
  return keep(await server.as(keys[key]!).request(method, onward.path ?? path, onward.body))
}

/** Cursors are opaque: another version may write them in another way. What they lead to is compared instead. */
const withoutCursor = ({ text, next, ...rest }: ExpectedAnswer): ExpectedAnswer => ({
  ...rest,
  text: text?.replace(/"cursor":"[^"]*"/, '"cursor":"(a cursor)"'),
  next: next && withoutCursor(next),
})

const cursorOf = ({ text }: ExpectedAnswer): unknown => (text === undefined ? null : JSON.parse(text).cursor)

/** Asks for all that was kept, and gives the answers that differ from it. A cursor that was kept still leads on. */
export const findChangedAnswers = async (server: Server, expected: Expected): Promise<object[]> => {
  const changed: object[] = []
  for (const { key, method, path, body, ...kept } of expected.answers) {
    const request = { key, method, path, body }
    const answer = await replay(server, expected, request)
    if (!Bun.deepEquals(withoutCursor(answer), withoutCursor(kept))) changed.push({ request, kept, answer })
    const cursor = cursorOf(kept)
    if (typeof cursor !== 'string') continue
    const next = await replayNext(server, expected.keys, request, cursor)
    if (!Bun.deepEquals(withoutCursor(next), withoutCursor(kept.next!))) changed.push({ request, cursor, kept, next })
  }
  return changed
}

const keep = ({ status, text, body }: Answer): ExpectedAnswer => {
  if (status >= 400) return { status, code: body.error.code }
  // When a key was last used depends on who asked before.
  if (body.keys !== undefined) return { status, text: text.replaceAll(/"lastUsedAt":\d+/g, '"lastUsedAt":null') }
  return { status, text }
}
