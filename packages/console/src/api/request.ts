import { readAnswer } from '../text/answer.ts'
import { learnTime } from './clock.ts'
import { type ApiError, errorOf, noAnswer } from './error.ts'

// Every request of the console. Answers stay text: `read` parses the envelope and leaves the members of users alone.

/** The path of the API: the page's own without `/console`. A proxy may have put a path before it. */
export const basePath: string = location.pathname.replace(/\/console\/?$/, '')
export const baseUrl: string = location.origin + basePath

export interface Answer {
  status: number
  headers: Headers
  text: string
  ms: number
}

interface RequestOptions {
  /** The body is sent as it is. */
  body?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** The session gives the key and hears of answers that end it. */
export const connection: { key: string | undefined; onRefusedKey: (code: string, message: string) => void } = {
  key: undefined,
  onRefusedKey: () => {},
}

const keyCodes = new Set(['invalid_api_key', 'expired_api_key', 'revoked_api_key', 'missing_api_key'])

/** A given header replaces ours, however its name is written; two of one name would be sent as one. */
const headersWith = (key: string | undefined, hasBody: boolean, given: Record<string, string>): Headers => {
  const headers = new Headers()
  if (key !== undefined) headers.set('Authorization', `Bearer ${key}`)
  if (hasBody) headers.set('Content-Type', 'application/json')
  for (const [name, value] of Object.entries(given)) headers.set(name, value)
  return headers
}

/** Resolves when the head of the answer is there. */
export const openAnswer = async (
  method: string,
  path: string,
  { body, headers = {}, signal }: RequestOptions,
  key: string | undefined = connection.key,
): Promise<Response> => {
  const response = await fetch(basePath + path, {
    method,
    body,
    signal,
    credentials: 'omit',
    cache: 'no-store',
    headers: headersWith(key, body !== undefined, headers),
  })
  learnTime(response.headers.get('date'))
  return response
}

/** Answers with any status; only no answer throws. */
export const exchange = async (
  method: string,
  path: string,
  options: RequestOptions = {},
  key: string | undefined = connection.key,
): Promise<Answer> => {
  const { signal } = options
  const startMs = performance.now()
  let response: Response
  let text: string
  try {
    response = await openAnswer(method, path, options, key)
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    throw noAnswer()
  }
  return { status: response.status, headers: response.headers, text, ms: performance.now() - startMs }
}

/** Ends the session if its key was refused. */
export const hearRefusal = ({ code, message }: { code: string; message: string }, key: string | undefined): void => {
  if (keyCodes.has(code) && key === connection.key) connection.onRefusedKey(code, message)
}

/** The error of an answer to a request with `key`. A key that is refused also ends the session. */
export const refusalOf = (
  status: number,
  text: string,
  requestId: string | null,
  key: string | undefined,
): ApiError => {
  const error = errorOf(status, text, requestId)
  hearRefusal(error, key)
  return error
}

/** Throws an ApiError unless the status is below 400. */
export const send = async (method: string, path: string, options: RequestOptions = {}): Promise<Answer> => {
  const { key } = connection
  const answer = await exchange(method, path, options, key)
  if (answer.status < 400) return answer
  throw refusalOf(answer.status, answer.text, answer.headers.get('x-request-id'), key)
}

/** Members whose values belong to users: their text is kept as it is. */
export const keptMembers = ['data', 'payload', 'result', 'progress', 'metadata'] as const

export const read = async <T>(method: string, path: string, options: RequestOptions = {}): Promise<T> =>
  readAnswer<T>((await send(method, path, options)).text, keptMembers)

/** A path of the API from parts that are each encoded once. */
export const pathOf = (...parts: string[]): string => `/${parts.map(encodeURIComponent).join('/')}`
