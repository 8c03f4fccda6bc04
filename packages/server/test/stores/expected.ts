import type { ApiResponse, Server } from '../harness.ts'

// `expected.json` in the folder of a version has all responses of its store.

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
  /** The time of the server's clock when the store was written. */
  writtenAtMs: number
  /** The text of every API key, by its role. */
  keys: Record<string, string>
  answers: (ReplayedRequest & ExpectedResponse)[]
}

export interface ExpectedResponse {
  status: number
  /** The exact text of a response. An error has only its code. */
  text?: string
  code?: string
  /** If the response had a cursor, this is the response to the same request with it. */
  next?: ExpectedResponse
}

/** Sends the request, and returns the response in the form in which it is kept. */
export const replay = async (
  server: Server,
  { keys }: Expected,
  request: ReplayedRequest,
): Promise<ExpectedResponse> => {
  const { key, method, path, body } = request
  const answer = await server.as(keys[key]!).request(method, path, body)
  const kept = keep(answer)
  const cursor = answer.body?.cursor
  if (typeof cursor !== 'string') return kept
  const onward = resumed(request, cursor)
  return { ...kept, next: keep(await server.as(keys[key]!).request(method, onward.path, onward.body)) }
}

/** A cursor is opaque, and each version writes its own. Only the page that it leads to is compared. */
const withoutCursor = (text: string): string => text.replace(/"cursor":"[A-Za-z0-9_-]+"\}$/, '"cursor":"…"}')

export const comparable = ({ text, next, ...answer }: ExpectedResponse): ExpectedResponse => ({
  ...answer,
  ...(text === undefined ? {} : { text: withoutCursor(text) }),
  ...(next === undefined ? {} : { next: comparable(next) }),
})

/** Returns the cursor of a kept response. */
export const cursorOf = ({ text }: ExpectedResponse): string | undefined =>
  /"cursor":"([A-Za-z0-9_-]+)"\}$/.exec(text ?? '')?.[1]

/** Adds a cursor to a request. */
export const resumed = (request: ReplayedRequest, cursor: string): ReplayedRequest =>
  request.body === undefined
    ? { ...request, path: `${request.path}&cursor=${cursor}` }
    : { ...request, body: JSON.stringify({ ...JSON.parse(request.body), cursor }) }

/** Sends all requests again and returns the answers that differ. The kept cursors must lead to the same next pages too. */
export const findChangedAnswers = async (server: Server, expected: Expected): Promise<object[]> => {
  const changed: object[] = []
  const compare = async (request: ReplayedRequest, kept: ExpectedResponse): Promise<void> => {
    const answer = comparable(await replay(server, expected, request))
    // The second page was kept without the page after it.
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

/** The time of a key's last use depends on earlier requests. Versions before 0.3 do not know rolled keys. */
const keptKeys = (text: string): string =>
  text.replaceAll(/"lastUsedAt":\d+/g, '"lastUsedAt":null').replaceAll(',"rolledFrom":null,"rolledTo":null', '')

/** Versions before 0.3 do not know tasks that follow a table. */
const keptTasks = (text: string): string => text.replaceAll(',"on":null,"oldestRunAt":', ',"oldestRunAt":')

/** Versions before 0.3 do not know users of runs. */
const keptRuns = (text: string): string => text.replaceAll(',"user":null', '')

/** Version 0.1 sends no newline after JSON; newer ones do. It is kept of neither. */
const keep = ({ status, text: sent, body }: ApiResponse): ExpectedResponse => {
  if (status >= 400) return { status, code: body.error.code }
  const text = body === undefined ? sent : sent.replace(/\n$/, '')
  if (body.keys !== undefined) return { status, text: keptKeys(text) }
  return { status, text: keptRuns(keptTasks(text)) }
}
