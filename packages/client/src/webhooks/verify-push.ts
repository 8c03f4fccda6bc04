import { PushError } from './push-error.ts'
import { type PushRequest, readBody, readHeaders } from './read-request.ts'
import { isSigned, parseSecrets } from './signature.ts'

export type { PushRequest } from './read-request.ts'

/**
 * One attempt of a run. The signature covers `id` and `payload`. The other fields come from headers that only the
 * connection protects.
 */
export interface Push<Payload = Record<string, unknown>> {
  /** The run's id. It is the same in every attempt. */
  id: string
  task: string
  database: string
  attempt: number
  /** The lease for `task.extend(push)` and `task.finish(push)`, as workers call them. */
  lease: string
  payload: Payload
}

export interface VerifyOptions {
  /** The largest difference between the time of the request and the clock. Default 300. */
  toleranceSeconds?: number
}

const decoder = new TextDecoder('utf-8', { fatal: true })

const parsePayload = <Payload>(bytes: Uint8Array): Payload => {
  let payload: unknown
  try {
    payload = JSON.parse(decoder.decode(bytes))
  } catch {}
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
    throw new PushError('body', 'The body is not a JSON object.')
  }
  return payload as Payload
}

const checkTimestamp = (timestamp: string, toleranceSeconds: number): void => {
  const ageSeconds = Math.floor(Date.now() / 1000) - Number(timestamp)
  if (Math.abs(ageSeconds) <= toleranceSeconds) return
  const found = ageSeconds > 0 ? `is ${ageSeconds} s old` : `lies ${-ageSeconds} s ahead`
  throw new PushError(
    'timestamp',
    `webhook-timestamp ${found}; it may differ by ${toleranceSeconds} s. Is the clock right?`,
  )
}

/**
 * Checks that the request is a push by Cubby, signed with the secret or one of the secrets, and returns its run. Otherwise
 * it rejects with a `PushError` that says why. A request can be repeated within its five minutes: `id` and `attempt` tell.
 */
export const verifyPush = async <Payload = Record<string, unknown>>(
  request: Request | PushRequest,
  secret: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<Push<Payload>> => {
  const secrets = parseSecrets(secret)
  const headers = readHeaders(request)
  const header = (name: string, pattern: RegExp): string => {
    const value = headers.get(name)
    if (value !== undefined && pattern.test(value)) return value
    throw new PushError('header', `The header ${name} is ${value === undefined ? 'missing' : 'malformed'}.`)
  }
  const id = header('webhook-id', /^[\w-]{1,128}$/)
  const timestamp = header('webhook-timestamp', /^\d{1,12}$/)
  const signatures = header('webhook-signature', /^[!-~ ]{1,4096}$/)
  const push = {
    id,
    task: header('cubby-task', /^[a-z0-9_-]{1,64}$/),
    database: header('cubby-database', /^[a-z0-9_-]{1,64}$/),
    attempt: Number(header('cubby-attempt', /^\d{1,9}$/)),
    lease: header('cubby-lease', /^[!-~]{1,256}$/),
  }
  checkTimestamp(timestamp, toleranceSeconds)
  const body = await readBody(request)
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`)
  const content = new Uint8Array(prefix.length + body.length)
  content.set(prefix)
  content.set(body, prefix.length)
  if (!(await isSigned(signatures, secrets, content))) {
    throw new PushError('signature', 'No signature was made with this secret, or the body was changed on the way.')
  }
  return { ...push, payload: parsePayload<Payload>(body) }
}
