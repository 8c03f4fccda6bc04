import { CubbyError, type ErrorCode } from '../core/errors.ts'
import { readHttpHint } from '../http/hint-text.ts'
import { type Arguments, CommandFailed, type Flag, UsageError } from './command.ts'

export const defaultUrl = 'http://127.0.0.1:4600'

export const remoteFlags: Record<string, Flag> = {
  url: { type: 'string', value: 'URL', help: 'where the server is', default: defaultUrl },
  key: { type: 'string', value: 'APIKEY', help: 'an API key; rather set CUBBY_KEY: others can see flags' },
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** From `/v1` on, each segment a checked name. */
  path: string
  /** JSON text. */
  body?: string
  headers?: Record<string, string>
  /** A second sending does no harm: reads, and puts that nobody else races. */
  repeatable: boolean
}

export interface Remote {
  url: string
  /** For messages: the key's kind and last four characters. */
  maskedKey: string
  /** The text of the answer; an error body is thrown as the CubbyError that it tells of. */
  request(call: Call): Promise<string>
}

const attemptMsMax = 60_000
const delayMsMax = 5_000

// The client parses and prints data again, which would change numbers that no double holds. So the commands speak
// with the server themselves, in texts.
export const openRemote = (args: Arguments, attemptsMax = 4): Remote => {
  const url = parseUrl(args.text('url') ?? defaultUrl)
  const key = args.text('key')
  if (key === undefined) throw new UsageError('the API key is missing: set CUBBY_KEY or give --key')
  return { url, maskedKey: maskKey(key), request: (call) => request(url, key, call, attemptsMax) }
}

const parseUrl = (text: string): string => {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new UsageError(`--url is "${text}"; it takes the address of a server, as ${defaultUrl}`)
  }
  return url.href.replace(/\/+$/, '')
}

const maskKey = (key: string): string => `${/^svc_(live|pub)_/.exec(key)?.[0] ?? ''}****${key.slice(-4)}`

interface Failure {
  error: Error
  /** Whether the server saw the request is not known. */
  unanswered: boolean
  retryAfterMs: number
}

const request = async (url: string, key: string, call: Call, attemptsMax: number): Promise<string> => {
  for (let attempt = 1; ; attempt++) {
    const answer = await send(url, key, call)
    if (typeof answer === 'string') return answer
    const { error, unanswered, retryAfterMs } = answer
    // `unavailable` promises that nothing was applied.
    const again = unanswered ? call.repeatable : error instanceof CubbyError && error.code === 'unavailable'
    if (!again || attempt >= attemptsMax) throw error
    await Bun.sleep(Math.max(retryAfterMs, Math.random() * Math.min(delayMsMax, 100 * 2 ** attempt)))
  }
}

const send = async (url: string, key: string, call: Call): Promise<string | Failure> => {
  const headers: Record<string, string> = { authorization: `Bearer ${key}`, ...call.headers }
  if (call.body !== undefined) headers['content-type'] = 'application/json'
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
    text = await response.text()
  } catch (error) {
    return { error: noAnswer(url, call, error as Error), unanswered: true, retryAfterMs: 0 }
  }
  if (response.ok) return text
  const retryAfterMs = Math.min(delayMsMax, (Number(response.headers.get('retry-after')) || 0) * 1000)
  const error = parseErrorBody(text)
  if (error !== undefined) return { error, unanswered: false, retryAfterMs }
  return {
    error: new CommandFailed(
      `${url} answered ${response.status} without an error body of Cubby; is it a Cubby server?`,
    ),
    unanswered: response.status >= 500,
    retryAfterMs,
  }
}

const noAnswer = (url: string, { repeatable }: Call, error: Error): CommandFailed => {
  const refused = /^(ConnectionRefused|ECONNREFUSED)$/.test(String((error as { code?: string }).code))
  const reason = refused ? 'nothing listens there' : error.message
  const unknown = repeatable ? '' : '; the change may or may not have been applied'
  return new CommandFailed(`no answer from ${url}: ${reason.replace(/\.$/, '')}${unknown}`)
}

const parseErrorBody = (text: string): CubbyError | undefined => {
  try {
    const { code, message, field, hint } = JSON.parse(text).error
    if (typeof message !== 'string') return undefined
    return new CubbyError(code as ErrorCode, message, { field, hint: hint && readHttpHint(hint) })
  } catch {
    return undefined
  }
}
