import { createHmac } from 'node:crypto'
import { errorMessageCharactersMax, retryAfterSecondsMax } from '../core/limits.ts'
import type { Run, RunError, RunErrorCode } from '../core/tasks/run.ts'
import { connectionMessage, type ReachOptions, reach } from './reach.ts'
import { isSuccess, type PushResponse } from './response-reader.ts'
import { resultOf } from './result.ts'
import { TargetRefused } from './target.ts'

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

/** After an abort of the signal the outcome is `timeout`. */
export interface PushOptions extends ReachOptions {
  nowMs: number
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
  const { signal, nowMs } = options
  const startedAt = performance.now()
  try {
    const body = Buffer.from(push.run.payload)
    const headers = headersOf(push, body, nowMs)
    const response = await reach(push.url, { method: 'POST', headers, body }, options)
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
