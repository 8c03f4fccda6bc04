import type { Answer, Server } from '../harness.ts'

// All answers of the store of a version, in the file `expected.json` of its folder.

export const dayMs = 24 * 60 * 60 * 1000

export interface ReplayedRequest {
  /** The store's key that sends the request. */
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

export interface ExpectedAnswer {
  status: number
  /** Byte for byte; of an error, only its code. */
  text?: string
  code?: string
  /** Where the answer had a cursor: the answer to the same request with it. */
  next?: ExpectedAnswer
}

/** Sends the request, and returns the answer in the form in which it is kept. */
export const replay = async (server: Server, { keys }: Expected, request: ReplayedRequest): Promise<ExpectedAnswer> => {
  const { key, method, path, body } = request
  const answer = await server.as(keys[key]!).request(method, path, body)
  const kept = keep(answer)
  const cursor = answer.body?.cursor
  if (typeof cursor !== 'string') return kept
  const onward = resumed(request, cursor)
  return { ...kept, next: keep(await server.as(keys[key]!).request(method, onward.path, onward.body)) }
}

/** A cursor is opaque: each version writes its own. What it leads to is compared. */
const withoutCursor = (text: string): string => text.replace(/"cursor":"[A-Za-z0-9_-]+"\}$/, '"cursor":"…"}')

export const comparable = ({ text, next, ...answer }: ExpectedAnswer): ExpectedAnswer => ({
  ...answer,
  ...(text === undefined ? {} : { text: withoutCursor(text) }),
  ...(next === undefined ? {} : { next: comparable(next) }),
})

/** The cursor that the answer had when it was written. */
export const cursorOf = ({ text }: ExpectedAnswer): string | undefined =>
  /"cursor":"([A-Za-z0-9_-]+)"\}$/.exec(text ?? '')?.[1]

/** The same request, with a cursor. */
export const resumed = (request: ReplayedRequest, cursor: string): ReplayedRequest =>
  request.body === undefined
    ? { ...request, path: `${request.path}&cursor=${cursor}` }
    : { ...request, body: JSON.stringify({ ...JSON.parse(request.body), cursor }) }

/** Sends all requests again and returns the answers that differ. The kept cursors must lead to the same next pages too. */
export const findChangedAnswers = async (server: Server, expected: Expected): Promise<object[]> => {
  const changed: object[] = []
  const compare = async (request: ReplayedRequest, kept: ExpectedAnswer): Promise<void> => {
    const answer = comparable(await replay(server, expected, request))
    // Of the second page only its own answer was kept.
    if (kept.next === undefined) delete answer.next
    if (!Bun.deepEquals(answer, comparable(kept))) changed.push({ request, kept, answer })
  }
  for (const { key, method, path, body, ...kept } of expected.answers) {
    const request = { key, method, path, body }
    await compare(request, kept)
    const cursor = cursorOf(kept)
    if (cursor !== undefined) await compare(resumed(request, cursor), kept.next!)
  }
  return changed
}

const keep = ({ status, text, body }: Answer): ExpectedAnswer => {
  if (status >= 400) return { status, code: body.error.code }
  // When a key was last used depends on who asked before.
  if (body.keys !== undefined) return { status, text: text.replaceAll(/"lastUsedAt":\d+/g, '"lastUsedAt":null') }
  return { status, text }
}
