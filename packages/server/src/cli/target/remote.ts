import { CubbyError, type ErrorCode } from '../../core/errors.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { targetFor } from '../../http/targets.ts'
import { findOperation, type RoutedOperationId } from '../../operations/catalogue.ts'
import type { Method } from '../../operations/operation.ts'
import { type Arguments, type Flag, givenAs, UsageError } from '../arguments.ts'

export const defaultUrl = 'http://127.0.0.1:4600'

export const remoteFlags: Record<string, Flag> = {
  url: { type: 'string', value: 'URL', help: "the server's address", default: defaultUrl },
  key: { type: 'string', value: 'APIKEY', help: 'an API key; prefer CUBBY_KEY: other users can see flags' },
}

interface Call {
  method: Method
  /** Starts with `/v1`; each segment is a checked name. */
  path: string
  /** JSON text, unless the headers name another type. */
  body?: string
  headers?: Record<string, string>
  /** True if it may be sent twice: true for reads, and for puts without concurrent writers. */
  repeatable: boolean
}

/** The request that calls an operation. Names in `input` have been checked. */
export const requestOf = (
  id: RoutedOperationId,
  input: Readonly<Record<string, unknown>>,
): Pick<Call, 'method' | 'path'> => {
  const route = findOperation(id)!.route!
  return { method: route.method, path: targetFor(route, input) }
}

/** A request or an answer whose body is the bytes of a file. They are never in memory as a whole. */
interface BytesCall {
  method: 'GET' | 'PUT'
  path: string
  headers: Record<string, string>
  /** It is called for each attempt. */
  body?: () => AsyncIterable<Uint8Array>
  repeatable: boolean
  /** 1 for bytes that can be read only once. */
  attemptsMax?: number
  /** Ends the exchange; there is no other limit on its time. */
  signal: AbortSignal
}

/** A message to pass on. Whatever the status, the answer is for the caller to read. */
interface TextCall {
  path: string
  headers: Record<string, string>
  /** JSON text. */
  body: string
  repeatable: boolean
  signal: AbortSignal
}

export interface Remote {
  url: string
  /** The key's kind and last four characters, for messages. */
  maskedKey: string
  /** The text of the answer. Throws the CubbyError of an error body. */
  request(call: Call): Promise<string>
  /** The answer once its head is there. Throws as `request` does. */
  exchangeBytes(call: BytesCall): Promise<Response>
  /** One attempt. Throws OperatorError if there is no answer, or one that is too long. */
  exchangeText(call: TextCall): Promise<{ status: number; text: string }>
}

const attemptMsMax = 60_000
const delayMsMax = 5_000

// The client is not used here: it parses and prints data again, which changes numbers that no double holds. Commands pass JSON
// texts through unchanged.
export const openRemote = (args: Arguments, attemptsMax = 4): Remote => {
  const url = parseServerUrl(args)
  const key = args.text('key')
  if (key === undefined) throw new UsageError('the API key is missing: set CUBBY_KEY or give --key')
  // It would be reported as a header that cannot be sent. A file with the lines of Windows leaves a carriage return.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UsageError(`${givenAs(args, 'key')} has a space, a line break or another character that no API key has`)
  }
  return {
    url,
    maskedKey: maskKey(key),
    request: (call) => repeat(() => send(url, key, call), call.repeatable, attemptsMax),
    exchangeBytes: (call) => repeat(() => sendBytes(url, key, call), call.repeatable, call.attemptsMax ?? attemptsMax),
    exchangeText: (call) => sendText(url, key, call),
  }
}

/** Returns the URL without a slash at its end. */
export const parseServerUrl = (args: Arguments): string => {
  const text = args.text('url') ?? defaultUrl
  const address = URL.parse(text)?.href ?? ''
  const wrong = `${givenAs(args, 'url')} is "${text.replace(/[^"/]*@/, '…')}"; it takes the address of a server, such as ${defaultUrl}`
  if (!/^https?:\/\/[^@?#]+$/.test(address)) throw new UsageError(wrong)
  // Databases follow the address: `app` would be a table of the database `v1`.
  if (/\/v1\/*$/.test(address)) throw new UsageError(`${wrong}, without /v1`)
  return address.replace(/\/+$/, '')
}

const maskKey = (key: string): string => `${/^svc_(live|pub)_/.exec(key)?.[0] ?? ''}****${key.slice(-4)}`

interface Failure {
  error: Error
  /** It is unknown whether the server received the request. */
  unanswered: boolean
  retryAfterMs: number
}

/** `repeatable`: also if it is unknown whether the server received the request. */
const repeat = async <Result extends string | Response>(
  attempt: () => Promise<Result | Failure>,
  repeatable: boolean,
  attemptsMax: number,
): Promise<Result> => {
  for (let attempts = 1; ; attempts++) {
    const answer = await attempt()
    if (typeof answer === 'string' || answer instanceof Response) return answer as Result
    const { error, unanswered, retryAfterMs } = answer as Failure
    // `unavailable` promises that nothing was applied or, of a load, only puts that may be repeated.
    const again = unanswered ? repeatable : error instanceof CubbyError && error.code === 'unavailable'
    if (!again || attempts >= attemptsMax) throw error
    await Bun.sleep(Math.max(retryAfterMs, Math.random() * Math.min(delayMsMax, 100 * 2 ** attempts)))
  }
}

const send = async (url: string, key: string, call: Call): Promise<string | Failure> => {
  const type = call.body === undefined ? undefined : { 'content-type': 'application/json' }
  const headers: Record<string, string> = { ...ownHeaders(key), ...type, ...call.headers }
  let response: Response
  let text: string
  try {
    response = await fetch(url + call.path, {
      method: call.method,
      headers,
      body: call.body,
      // A followed redirect may turn POST into GET.
      redirect: 'error',
      signal: AbortSignal.timeout(attemptMsMax),
    })
    text = withoutLineEnd(await response.text())
  } catch (error) {
    return { error: noResponse(url, call, error as Error), unanswered: true, retryAfterMs: 0 }
  }
  // Every answer is an object. Other servers answer any path with a page.
  if (response.ok && text.startsWith('{')) return text
  return readFailure(url, response, text)
}

/** The newline after JSON ends the answer and is no part of its text. */
export const withoutLineEnd = (text: string): string => text.replace(/\n$/, '')

const sendBytes = async (url: string, key: string, call: BytesCall): Promise<Response | Failure> => {
  let response: Response
  try {
    response = await fetch(url + call.path, {
      method: call.method,
      // Bytes are to arrive as they are stored, also through a proxy that would compress them.
      headers: { ...ownHeaders(key), 'accept-encoding': 'identity', ...call.headers },
      body: call.body?.(),
      redirect: 'error',
      signal: call.signal,
      // Bun's own limit ends what has waited for five minutes.
      timeout: false,
    })
    if (response.ok) return response
    return readFailure(url, response, await response.text())
  } catch (error) {
    return { error: noResponse(url, call, error as Error), unanswered: true, retryAfterMs: 0 }
  }
}

const sendText = async (url: string, key: string, call: TextCall): Promise<{ status: number; text: string }> => {
  try {
    const response = await fetch(url + call.path, {
      method: 'POST',
      // The answer is passed on: its reader calls no commands.
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...call.headers },
      body: call.body,
      redirect: 'error',
      signal: call.signal,
      timeout: false,
    })
    return { status: response.status, text: await readText(response) }
  } catch (error) {
    throw noResponse(url, call, error as Error)
  }
}

/** No answer of a Cubby server to a message is longer. */
const responseBytesMax = 12 * 1024 * 1024

const readText = async (response: Response): Promise<string> => {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > responseBytesMax) throw new Error(`the answer is longer than ${responseBytesMax} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

const readFailure = (url: string, response: Response, text: string): Failure => {
  const retryAfterMs = Math.min(delayMsMax, (Number(response.headers.get('retry-after')) || 0) * 1000)
  const expected = response.ok ? 'with a JSON object' : 'with a Cubby error'
  const error = parseErrorBody(text)
  if (error !== undefined) return { error, unanswered: false, retryAfterMs }
  return {
    error: new OperatorError(`${url} answered ${response.status}, but not ${expected}; is it a Cubby server?`),
    unanswered: response.status >= 500,
    retryAfterMs,
  }
}

/** The hints of the answer name commands, not requests. */
const ownHeaders = (key: string) => ({ authorization: `Bearer ${key}`, prefer: 'hints=shell' })

const noResponse = (url: string, { repeatable }: Pick<Call, 'repeatable'>, error: Error): OperatorError => {
  const refused = /^(ConnectionRefused|ECONNREFUSED)$/.test(String((error as { code?: string }).code))
  const reason = refused ? 'nothing listens there' : error.message
  const unknown = repeatable || refused ? '' : '; the change may or may not have been applied'
  return new OperatorError(`no answer from ${url}: ${reason.replace(/\.$/, '')}${unknown}`)
}

const parseErrorBody = (text: string): CubbyError | undefined => {
  try {
    const { code, message, field, hint } = JSON.parse(text).error
    if (typeof message !== 'string') return undefined
    return new CubbyError(code as ErrorCode, message, { field, hint })
  } catch {
    return undefined
  }
}
