import type { Awaitable } from '../core/awaitable.ts'
import type { Log } from '../core/log.ts'

/** What the log and the metrics learn of a request. For a streamed answer: when its first bytes can be sent. */
export interface Answered {
  readonly requestId: string | null
  /** Undefined where no operation has this path and method. */
  readonly operation: string | undefined
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
}

/** Called once for each answer, after it was made; must be cheap. */
export type Observer = (answered: Answered) => void

interface Observable {
  readonly method: string
  readonly url: string
  readonly params: object
}

/** Where a request can be sent to: a path of the route table, or none. */
export interface Place {
  readonly path: string | undefined
  operationOf(method: string): string | undefined
}

type Handler<R extends Observable, S> = (request: R, server: S) => Awaitable<Response>

/** With the observer told of every answer. Without one it is the handler itself, so that nothing is paid for it. */
export const observed = <R extends Observable, S>(
  observer: Observer | undefined,
  place: Place,
  handler: Handler<R, S>,
): Handler<R, S> => {
  if (observer === undefined) return handler
  return async (request, server) => {
    const startedAtMs = performance.now()
    const response = await handler(request, server)
    observer({
      requestId: response.headers.get('x-request-id'),
      operation: place.operationOf(request.method),
      method: request.method,
      path: shownPath(place.path, request),
      status: response.status,
      ms: Math.round((performance.now() - startedAtMs) * 100) / 100,
    })
    return response
  }
}

/** `--log requests`: a line for every request. */
export const logAnswered =
  (log: Log): Observer =>
  ({ requestId, method, path, status, ms }) =>
    log('info', 'request', { requestId, method, path, status, ms })

/** The path as it was matched: in the URL that Bun gives, `..` and `\` are resolved already. Without the query string. */
const shownPath = (path: string | undefined, { url, params }: Observable): string =>
  path === undefined
    ? url.replace(/^[a-z]+:\/\/[^/]*/i, '').split('?', 1)[0]!
    : path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent((params[name as never] as string).toWellFormed()))
