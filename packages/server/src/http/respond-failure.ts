import { CubbyError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { revoked, revokedToken } from './authenticate.ts'
import { BodyAbandoned } from './body-faults.ts'
import { causeOf } from './cause-of.ts'
import { type ErrorContext, respondError } from './respond.ts'

/** The engine's error only has the code. */
const asToldToCallers = (error: CubbyError): CubbyError => {
  if (error.code === 'revoked_api_key') return revoked()
  return error.code === 'revoked_token' && error.hint === undefined ? revokedToken() : error
}

/** Turns any thrown value into an answer. Faults of the server are logged with the request id. */
export const respondFailure = (log: Log, requestId: string, error: unknown, context?: ErrorContext): Response => {
  if (error instanceof CubbyError) {
    if (error.code === 'internal' || error.code === 'outcome_unknown') {
      log('error', 'request failed', { requestId, code: error.code, cause: error.cause })
    }
    const response = respondError(requestId, error.count === undefined ? asToldToCallers(error) : error, context)
    if (error instanceof BodyAbandoned) response.headers.set('Connection', 'close')
    return response
  }
  log('error', 'request failed', { requestId, cause: causeOf(error) })
  return respondError(
    requestId,
    new CubbyError('internal', 'The server failed to answer this request.', {
      hint: 'This is a fault of the server; its log has the cause under this requestId.',
    }),
  )
}

/** A response leaves its connection open once per interval, although the request's chunked body was not read. */
const unreadEveryMs = 500
let unreadAtMs = Number.NEGATIVE_INFINITY

/**
 * Bun parses the rest of an unread chunked body chunk by chunk before the next request of the connection; the rest of a
 * body of known length costs nothing. Closing the connection avoids that, but a client that is still sending may see a
 * broken connection before it sees the answer. So the connection is closed only when there are many such requests.
 */
export const closingIfUnread = (request: Request, response: Response): Response => {
  if (!request.headers.has('transfer-encoding') || request.bodyUsed) return response
  const nowMs = performance.now()
  if (nowMs - unreadAtMs < unreadEveryMs) response.headers.set('Connection', 'close')
  else unreadAtMs = nowMs
  return response
}
