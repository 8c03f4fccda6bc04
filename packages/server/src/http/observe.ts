import type { Awaitable } from '../core/awaitable.ts'
import { codeOfResponse, noteResponses, takeBytesOf } from './response-notes.ts'

/**
 * A request and its answer, for the log and the metrics. For a streamed answer the time ends when its first bytes can be sent.
 * Members are computed when they are read: the metrics need few of them.
 */
export class ObservedResponse {
  /** The route that it matched; undefined while nobody observes it. */
  matched: ObservedRoute | undefined = undefined
  request!: Observable
  response!: Response
  startedAtMs = 0
  ms = 0
  /** Bytes of the body of the response. */
  bytesOut = 0
  /** Set when the request has a route. */
  exchange: ObservedExchange | undefined = undefined
  /** Set if it was read: Bun makes the text anew at each look. */
  knownMethod: string | undefined = undefined
  /** The index at which the metrics count it, if that is known before the response. */
  countsAt: number | undefined = undefined

  end(response: Response, endedAtMs = performance.now()): this {
    this.response = response
    this.ms = endedAtMs - this.startedAtMs
    const bytes = takeBytesOf(response)
    this.bytesOut = this.method === 'HEAD' ? 0 : bytes
    return this
  }

  get method(): string {
    this.knownMethod ??= this.request.method
    return this.knownMethod
  }

  /** Undefined if no operation has this path and method. */
  get operation(): string | undefined {
    return this.matched?.operationOf(this.method)
  }

  get status(): number {
    return this.response.status
  }

  /** Returns the time without the wait for a run that the caller asked for. */
  get workMs(): number {
    return this.ms - (this.exchange?.waitedMs ?? 0)
  }

  /** The request id in the answer. */
  get sentId(): string | null {
    return this.response.headers.get('x-request-id')
  }

  get path(): string {
    return shownPath(this.matched?.path, this.request)
  }

  /** The code of the error; undefined if it is none. */
  get code(): string | undefined {
    return codeOfResponse(this.response)
  }

  /** Bytes of the body of the request, as far as it was read. */
  get bytesIn(): number {
    return this.exchange?.receivedBytes ?? 0
  }
}

/** The facts about a request that has a route. */
export interface ObservedExchange {
  /** Undefined if the caller is not known: the key is missing or wrong. */
  readonly identity: { orgId: number; keyId: string | undefined } | undefined
  readonly receivedBytes: number
  readonly waitedMs: number
}

/** Called once for each answer, when it is ready; must be cheap, and must not throw. */
export type Observer = (observed: ObservedResponse) => void

/** Counts answers, for the metrics. */
export interface ResponseCounter {
  /** Returns the index at which the counts of an operation start; undefined stands for requests without an operation. */
  startOf(operation: string | undefined): number
  count(start: number, status: number, workMs: number, bytesIn: number, bytesOut: number): void
}

/** Those that look at answers; undefined if there are none. */
export class Observers {
  readonly #counter: ResponseCounter | undefined
  readonly #log: Observer | undefined

  private constructor(counter: ResponseCounter | undefined, log: Observer | undefined) {
    this.#counter = counter
    this.#log = log
    noteResponses()
  }

  static of(counter: ResponseCounter | undefined, log: Observer | undefined): Observers | undefined {
    return counter === undefined && log === undefined ? undefined : new Observers(counter, log)
  }

  see(observed: ObservedResponse): void {
    const counter = this.#counter
    if (counter !== undefined) {
      const start = observed.countsAt ?? counter.startOf(observed.operation)
      counter.count(start, observed.status, observed.workMs, observed.bytesIn, observed.bytesOut)
    }
    if (this.#log !== undefined) this.#log(observed)
  }
}

interface Observable {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** Parameters of the path, if it was matched. */
  readonly params?: object
}

/** A path of the route table; `path` is undefined for requests that match no route. */
export interface ObservedRoute {
  readonly path: string | undefined
  operationOf(method: string): string | undefined
}

/** `answered` is undefined without an observer. */
type Handler<R extends Observable, S> = (request: R, server: S, observed?: ObservedResponse) => Awaitable<Response>

/**
 * Adds observers to a handler. Without one it returns the handler itself, which costs nothing. The pipeline observes requests
 * that have a route of the API itself: see `#seen` there.
 */
export const observed = <R extends Observable, S>(
  observers: Observers | undefined,
  route: ObservedRoute,
  handler: Handler<R, S>,
): Handler<R, S> => {
  if (observers === undefined) return handler
  return async (request, server) => {
    const observed = new ObservedResponse()
    observed.matched = route
    observed.request = request
    observed.startedAtMs = performance.now()
    const response = await handler(request, server, observed)
    observers.see(observed.end(response))
    return response
  }
}

/** The path of a URL as Bun gives it: without a host if Host is malformed. */
export const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/]*/i, '').split('?', 1)[0]!

/** The query of a URL, as it was sent. */
export const queryOf = (url: string): string => {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}

/** The path as it was matched, without the query string. In the URL from Bun, `..` and `\` are already resolved. */
const shownPath = (path: string | undefined, { url, params }: Observable): string =>
  path === undefined
    ? pathOf(url)
    : path.replace(/:(\w+)/g, (_, name: string) =>
        encodeURIComponent((params![name as never] as string).toWellFormed()),
      )
