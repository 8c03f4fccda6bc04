import { createHmac } from 'node:crypto'
import { errorMessageCharactersMax, retryAfterSecondsMax } from '../core/limits.ts'
import type { Run, RunError, RunErrorCode } from '../core/tasks/run.ts'
import type { Allow } from './allow.ts'
import { exchange } from './exchange.ts'
import { type Resolve, resolveName } from './resolve.ts'
import { BadResponse, isSuccess, type LimitedPart, type PushResponse } from './response-reader.ts'
import { resultOf } from './result.ts'
import { checkedAddresses, parseTarget, TargetRefused } from './target.ts'

/** One attempt: the request, and its target. */
export interface Push {
  url: string
  authorization: string | null
  /** One or two, newest first: all of them sign. */
  secrets: readonly string[]
  db: string
  /** The name of the task. */
  task: string
  /** The run with the lease of this attempt. */
  run: Run
}

export interface PushOptions {
  allow: Allow
  /** The caller owns the deadline. An abort closes the connection, and the outcome is `timeout`. */
  signal: AbortSignal
  nowMs: number
  /** It is called if a part of the answer was too long; then nothing more was read. */
  onCut?: (part: LimitedPart) => void
  /** Tests set another resolver. */
  resolve?: Resolve
  /** Tests set certificates of authorities. */
  ca?: string
}

export type PushOutcome =
  /** `result`: the text of a JSON object; null if the answer has none that can be kept. */
  | { status: 'succeeded'; result: string | null }
  | {
      status: 'failed'
      error: RunError
      /** False: the run fails for good. */
      retry: boolean
      /** Replaces the backoff. */
      retryAfterMs: number | null
    }

/** Makes one attempt. It never throws because of the target or its answer, and ends soon after the signal aborts. */
export const pushRun = async (push: Push, options: PushOptions): Promise<PushOutcome> => {
  const { allow, signal, nowMs, onCut, resolve = resolveName, ca } = options
  const startedAt = performance.now()
  try {
    const target = parseTarget(push.url, allow)
    // A name server may take longer than the lease, and a lookup cannot be cancelled.
    const addresses = await unlessAborted(checkedAddresses(target, allow, resolve), signal)
    if (addresses.length === 0) return failed('connection', 'The name of the host does not resolve.')
    const body = Buffer.from(push.run.payload)
    const headers = headersOf(push, body, nowMs)
    const response = await exchange({ target, addresses, headers, body, signal, onCut, ca })
    return outcomeOf(response, nowMs + Math.round(performance.now() - startedAt))
  } catch (error) {
    if (error instanceof TargetRefused) return { ...failed('target_refused', `The url ${error.message}`), retry: false }
    if (signal.aborted) return failed('timeout', 'The target did not answer before the lease ended.')
    return failed('connection', connectionMessage(error))
  }
}

const headersOf = ({ authorization, secrets, db, task, run }: Push, body: Uint8Array, nowMs: number) => {
  const timestamp = String(Math.floor(nowMs / 1000))
  return {
    'content-type': 'application/json',
    // The answer is read as it is, so that a small one cannot become a large one.
    'accept-encoding': 'identity',
    'webhook-id': run.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatureOf(secrets, { id: run.id, timestamp, body }),
    'cubby-database': db,
    'cubby-task': task,
    'cubby-attempt': String(run.attempt),
    'cubby-lease': run.lease!,
    ...(run.user === null ? {} : { 'cubby-user': encodeURIComponent(run.user) }),
    ...(authorization === null ? {} : { authorization }),
  }
}

const secretPrefix = 'whsec_'

/** Standard Webhooks 1.0: one `v1,…` for each secret, with a space between them. */
const signatureOf = (
  secrets: readonly string[],
  { id, timestamp, body }: { id: string; timestamp: string; body: Uint8Array },
): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
    })
    .join(' ')

const unlessAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error('the signal aborted the push'))
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })

/** The status with which a receiver refuses all further attempts. */
const gone = 410

const outcomeOf = ({ status, retryAfter, body }: PushResponse, nowMs: number): PushOutcome => {
  if (isSuccess(status)) return { status: 'succeeded', result: body === undefined ? null : resultOf(body) }
  const failure = failed('http_status', `The target answered ${status}.`)
  if (status === gone) return { ...failure, retry: false }
  return { ...failure, retryAfterMs: parseRetryAfter(retryAfter, nowMs) }
}

// The form of dates that HTTP allows to send. Date.parse alone would also read "2026" or "1.5".
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Returns milliseconds from `nowMs`: at most a day, and 0 for a date that has passed. Null without a valid value. */
const parseRetryAfter = (value: string | undefined, nowMs: number): number | null => {
  const text = value?.trim() ?? ''
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : httpDate.test(text) ? Date.parse(text) - nowMs : Number.NaN
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), retryAfterSecondsMax * 1000)
}

type Failure = Extract<PushOutcome, { status: 'failed' }>

const failed = (code: RunErrorCode, message: string): Failure => ({
  status: 'failed',
  error: { code, message: message.slice(0, errorMessageCharactersMax) },
  retry: true,
  retryAfterMs: null,
})

/** Shows errors of the runtime by their codes only, because messages of TLS repeat what the target has sent. */
const connectionMessage = (error: unknown): string => {
  if (error instanceof BadResponse) return error.message
  const code = String((error as { code?: unknown }).code ?? '')
  const reason = reasons.find(([pattern]) => pattern.test(code))?.[1] ?? 'The connection to the target failed'
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `${reason} (${code}).` : `${reason}.`
}

const reasons: readonly [RegExp, string][] = [
  [/^ECONNREFUSED$/, 'The target refused the connection'],
  [/^ECONNRESET$/, 'The target closed the connection without an answer'],
  [/^DNS_|ENOTFOUND|EAI_/, 'The name of the host does not resolve'],
  [/CERT|SIGNATURE|ISSUER|SSL|TLS/, 'The certificate of the target is not valid for its name, or TLS failed'],
]
