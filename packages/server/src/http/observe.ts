import type { Awaitable } from '../core/awaitable.ts'
import type { Log } from '../core/log.ts'

/** A request for the log and the metrics. For a streamed answer `ms` ends when its first bytes can be sent. */
export interface Answered {
  readonly requestId: string | null
  /** undefined if no operation has this path and method. */
  readonly operation: string | undefined
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
}

/** Called once for each answer, when it is ready; must be cheap. */
export type Observer = (answered: Answered) => void

interface Observable {
  readonly method: string
  readonly url: string
  readonly params: object
}

/** A path of the route table; `path` is undefined for requests that match no route. */
export interface Place {
  readonly path: string | undefined
  operationOf(method: string): string | undefined
}

type Handler<R extends Observable, S> = (request: R, server: S) => Awaitable<Response>

/** Adds an observer to a handler. Without an observer it returns the handler itself, which costs nothing. */
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

/** `--log requests`: one line per request. */
export const logAnswered =
  (log: Log): Observer =>
  ({ requestId, method, path, status, ms }) =>
    log('info', 'request', { requestId, method, path, status, ms })

/** The path of a URL as Bun gives it: without a host if Host is malformed. */
export const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/]*/i, '').split('?', 1)[0]!

/** The path as it was matched, without the query string. In the URL from Bun, `..` and `\` are already resolved. */
const shownPath = (path: string | undefined, { url, params }: Observable): string =>
  path === undefined
    ? pathOf(url)
    : path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent((params[name as never] as string).toWellFormed()))
