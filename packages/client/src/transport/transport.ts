import { checkApiKey, parseAddress } from './address.ts'
import { CubbyError, type ErrorDetails, refusal } from './errors.ts'
import { describeNetworkError } from './network-error.ts'
import { type Effect, type Failure, mayRepeat, readRetryAfterMs, repeatDelayMs, tokenRefusals } from './retry.ts'
import { checkToken, TokenHolder, type TokenSource } from './token.ts'
import type { ErrorResponse } from './wire.ts'
import type { OwnToken } from './wire-tokens.ts'

/** Options of one call. The client's options are the defaults. */
export interface RequestOptions {
  /** Aborts the call and its retries. The call rejects with the signal's reason. */
  signal?: AbortSignal
  /**
   * Limit for one attempt, body included. Default 30,000. The time that a call asks the server to wait is added. To limit the
   * whole call, use `AbortSignal.timeout`.
   */
  timeoutMs?: number
  /** The number of times that a request is retried where that is safe. Default 3. */
  retries?: number
  /**
   * Retries also a write that got no response, although it may have been applied. If somebody else wrote in between, the retry
   * overwrites that. Use it only for records that nobody else writes.
   */
  repeatWrites?: boolean
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

interface ClientOptions extends Omit<RequestOptions, 'signal'> {
  /** The address of the service: `https://cubby.example.com`. */
  url: string | URL
  /** Replaces the global `fetch`. */
  fetch?: Fetch
}

interface KeyOptions extends ClientOptions {
  /** `svc_live_…` on servers, `svc_pub_…` in browsers. */
  key: string
  token?: never
}

interface TokenOptions extends ClientOptions {
  key?: never
  /**
   * The user token of one person, or a function that gets one from your server or from `tokens.exchange`. It is called again
   * shortly before the end, and once when the token has expired or is revoked, for all requests together.
   */
  token: TokenSource
}

export type CubbyOptions = KeyOptions | TokenOptions

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Starts with `/v1` or `/api`; each segment is encoded. */
  path: string
  effect: Effect
  /** JSON text, or the bytes of a file. */
  body?: string | Blob | undefined
  headers?: Record<string, string>
  /** Replaces `fetch` for this call. `isOwn`: the caller of the client has replaced it already. */
  exchange?: (fetchFrom: Fetch, isOwn: boolean) => Fetch
  /**
   * Returns the error of the caller's own source of bytes in the last attempt, if it failed: then the service did not get all
   * of them.
   */
  failure?: () => unknown
  /** The time that the service was asked to wait before it answers. The time limit of an attempt begins after it. */
  waitMs?: number
  /** The answer is the bytes of a file: the call resolves to the `Response` once its head has arrived. */
  raw?: true
  /** The body is a stream: it cannot be sent again. */
  once?: boolean
}

export interface Send {
  <T>(call: Call, options?: RequestOptions): Promise<T>
  /** It sends the token of a user. */
  readonly ofUser?: boolean
}

const timerMsMax = 2 ** 31 - 1
const timeoutMsDefault = 30_000

/** Rejects with the signal's reason when it aborts. */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop)
  })

/** No response, or one that is not from the service, such as a proxy's error page. */
const noResponse = (call: Call, message: string, details: ErrorDetails, retryAfterMs = 0): Failure => {
  const read = call.effect === 'read'
  const unknown = 'The write may or may not have been applied: read before repeating it.'
  const { hint } = details
  return {
    error: new CubbyError(read ? 'unavailable' : 'outcome_unknown', message, {
      ...details,
      hint: read ? hint : `${unknown} ${hint ?? ''}`.trim(),
    }),
    unanswered: true,
    retryAfterMs,
  }
}

/** Rejects with the signal's reason when it aborts; the work goes on for others. */
const orAborted = <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  new Promise((resolve, reject) => {
    const stop = () => reject(signal!.reason)
    signal?.addEventListener('abort', stop)
    work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', stop))
  })

type ApiResponse<T> = { value: T } | Failure

/** A proxy's page, with status 200. With a file of that type the service also sends its digest. */
const isPage = ({ headers }: Response): boolean =>
  /^text\/html/i.test(headers.get('content-type') ?? '') && !headers.has('repr-digest')

const readResponse = <T>(
  call: Call,
  target: string,
  { ok, status, headers }: Response,
  text: string,
): ApiResponse<T> => {
  const retryAfterMs = readRetryAfterMs(headers.get('retry-after'))
  let body: unknown
  try {
    body = JSON.parse(text)
    if (ok && !call.raw) return { value: body as T }
  } catch {}
  const error = (body as Partial<ErrorResponse> | undefined)?.error
  if (error?.code) {
    return { error: new CubbyError(error.code, error.message, { ...error, status }), unanswered: false, retryAfterMs }
  }
  const message = `${target}: status ${status}, and the body is not from the service`
  if (ok || status >= 500) return noResponse(call, message, { status }, retryAfterMs)
  // A proxy rejected the request, so nothing was applied. The service has no code for that.
  return { error: new CubbyError('internal', message, { status }), unanswered: false, retryAfterMs }
}

/**
 * With an idempotency key, a request that is rejected for what it says was not applied before. Of one whose table or task is gone
 * that is not known: its key went with it.
 */
const tellsOfAll = ({ headers }: Call, status: number): boolean =>
  headers?.['idempotency-key'] !== undefined && [400, 409, 412, 413, 422].includes(status)

const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

export const createSend = (client: CubbyOptions): Send => {
  const base = parseAddress(client?.url)
  const { key, token } = client
  if (token == null) {
    checkApiKey(key)
    return createSendTo(base, bearer(key!), client)
  }
  if (key != null) throw refusal('invalid_request', 'token', 'is given beside key; a client takes one of them.')
  const send = createSendTo(base, typeof token === 'function' ? token : bearer(checkToken(token)), client)
  return Object.assign(send, { ofUser: true })
}

/**
 * `credential` has the headers, or gets the user token. Without headers it works for signed URLs too: nothing of the client is
 * sent to another address than `base`.
 */
export const createSendTo = (
  base: string,
  credential: Record<string, string> | Exclude<TokenSource, string>,
  client: Partial<CubbyOptions>,
): Send => {
  // `fetch` is read at the time of the call. It must not be called as a method of another object: browsers reject that.
  const fetchFrom: Fetch = client.fetch ?? ((url, init) => fetch(url, init))
  // Leaves out the query: it may be long, and that of a signed URL is a secret.
  const targetOf = ({ method, path }: Call) => `${method} ${base}${path.split('?')[0]}`

  const attempt = async <T>(
    call: Call,
    signal: AbortSignal | undefined,
    timeoutMs: number,
    authorization: Record<string, string>,
  ): Promise<ApiResponse<T>> => {
    const target = targetOf(call)
    const controller = new AbortController()
    const stop = () => controller.abort(signal!.reason)
    signal?.addEventListener('abort', stop)
    const timer = setTimeout(
      () => controller.abort(new Error(`no answer within ${timeoutMs} ms`)),
      Math.min(timeoutMs, timerMsMax),
    )
    try {
      const response = await (call.exchange?.(fetchFrom, !!client.fetch) ?? fetchFrom)(base + call.path, {
        method: call.method,
        body: call.body,
        headers: {
          ...authorization,
          ...(typeof call.body === 'string' && { 'content-type': 'application/json' }),
          ...call.headers,
        },
        // The caller's signal also aborts the bytes of a file, which arrive after this function has returned.
        signal: call.raw && signal ? AbortSignal.any([signal, controller.signal]) : controller.signal,
        // Following a redirect may turn POST into GET, so that a query would return a record.
        redirect: 'error',
        // When a reused connection breaks, Bun itself retries PUT and DELETE. On a new connection it does not. In other
        // runtimes false is the default and has no effect.
        keepalive: call.method === 'PUT' || call.method === 'DELETE' ? false : undefined,
      })
      const isFile = response.status === 304 || (response.ok && !isPage(response))
      if (call.raw && isFile) return { value: response as T }
      return readResponse<T>(call, target, response, await response.text())
    } catch (error) {
      signal?.throwIfAborted()
      if (controller.signal.aborted) {
        const cause = controller.signal.reason
        return noResponse(call, `${target}: ${cause.message}`, { cause })
      }
      const { why, hint } = describeNetworkError(error)
      return noResponse(call, `${target}: ${why}`, { cause: error, hint })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
  }

  const readEnd = async (text: string): Promise<number | undefined> => {
    const call = { method: 'GET', path: '/api/tokens/self', effect: 'read' } as const
    const answer = await attempt<OwnToken>(call, undefined, timeoutMsDefault, bearer(text))
    return 'value' in answer ? answer.value?.expiresAt : undefined
  }
  const holder = typeof credential === 'function' ? new TokenHolder(credential, readEnd) : undefined

  return async <T>(call: Call, options: RequestOptions = {}): Promise<T> => {
    const { signal } = options
    let maybeApplied = false
    let isRenewed = false
    for (let sent = 0; ; sent++) {
      signal?.throwIfAborted()
      const timeoutMs = (call.waitMs ?? 0) + (options.timeoutMs ?? client.timeoutMs ?? timeoutMsDefault)
      const held = holder && (await orAborted(holder.take(), signal))
      const answer = await attempt<T>(
        call,
        signal,
        timeoutMs,
        held ? bearer(held.text) : (credential as Record<string, string>),
      )
      if ('value' in answer) return answer.value
      const failure = call.failure?.()
      if (held && tokenRefusals.test(answer.error.code)) {
        holder!.drop(held)
        // Nothing was applied, so that writes are repeated too.
        if (!isRenewed && !call.once && failure === undefined) {
          isRenewed = true
          continue
        }
      }
      if (
        failure !== undefined ||
        call.once ||
        sent >= (options.retries ?? client.retries ?? 3) ||
        !mayRepeat(answer, call.effect, options.repeatWrites ?? client.repeatWrites ?? false)
      ) {
        // The last response is about the last attempt only: a 412 may mean that an earlier attempt was applied.
        const { error } = answer
        if (maybeApplied && !tellsOfAll(call, error.status)) {
          throw noResponse(call, `${targetOf(call)}: no answer, then: ${error.message}`, {
            cause: error,
          }).error
        }
        throw failure ?? answer.error
      }
      maybeApplied ||= answer.unanswered && call.effect !== 'read'
      await pause(repeatDelayMs(sent, answer.retryAfterMs), signal)
    }
  }
}
