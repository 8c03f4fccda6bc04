import type { BunRequest, Server } from 'bun'
import { type Awaitable, andThen } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Holder } from '../core/shares.ts'
import type { McpServer } from '../mcp/server.ts'
import type { Method } from '../operations/operation.ts'
import { Admission } from './admit.ts'
import { Arrivals } from './arrivals.ts'
import { Authenticator, type AuthenticatorOptions } from './authenticate.ts'
import { BodyReader } from './body.ts'
import { wantsShellHints } from './conditions.ts'
import { type DownloadRefusal, Downloads } from './downloads.ts'
import { Feeds } from './feeds.ts'
import { hasEmptySegment, longNameParameters } from './file-paths.ts'
import { FileUrlExchange, type FileUrlOptions, type FileUrlRoute, fileUrlRoutes } from './file-url-endpoint.ts'
import { Loads } from './loads.ts'
import { foreignCaller, type McpEndpointOptions, McpExchange, mcpRoute, respondForeign } from './mcp-endpoint.ts'
import { lostPathHint, namesIn, withBetterHint, withoutNames, wrongMethodHint } from './mistake-hints.ts'
import {
  type ObservedResponse,
  type ObservedRoute,
  Observers,
  observed,
  pathOf,
  type ResponseCounter,
} from './observe.ts'
import { RequestExchange, type Shared } from './request-exchange.ts'
import { requestIdOf } from './request-id.ts'
import { logResponses } from './request-log.ts'
import { respondError, respondJson, respondPreflight } from './respond.ts'
import { closingIfUnread, respondFailure } from './respond-failure.ts'
import { asUrlResponse } from './respond-file.ts'
import { ResponseBodies } from './response-bodies.ts'
import { ResponseEnds } from './response-ends.ts'
import { allowedMethods, type Route } from './routes.ts'
import { literalParameter } from './targets.ts'
import { Turns } from './turns.ts'
import { UploadBodies } from './upload-body.ts'
import { type UploadRefusal, Uploads } from './uploads.ts'
import { UserWaits } from './user-waits.ts'

export interface PipelineOptions extends AuthenticatorOptions {
  log: Log
  /** Log one line per request. */
  logRequests: boolean
  /** Log requests that took at least so long. */
  logSlowMs?: number
  /** The counter of the metrics. */
  responseCounter?: ResponseCounter
  fileCounter?: FileCounter
}

/** Counts uploads and downloads that were refused or cut. */
interface FileCounter {
  uploadRefused(reason: UploadRefusal): void
  downloadRefused(reason: DownloadRefusal): void
}

type Request = BunRequest<string>
type Params = RequestExchange['params']
export type Handler = (request: Request, server: Server<undefined>) => Awaitable<Response>

/** The place of requests that are refused whatever their path is, or whose path no route has. */
const noRoute: ObservedRoute = { path: undefined, operationOf: () => undefined }

const severalHosts = (): CubbyError =>
  new CubbyError('invalid_request', 'The request has several Host headers, or one that is a list.', {
    field: 'Host',
    hint: 'Send one Host header. A proxy that adds its own must remove the one that it received.',
  })

/** The caller that stands for all whose organization is not known. No organization has this id. */
const strangers: Holder = { orgId: 0, keySeq: 0 }

/** The answer of a route that needs no key. `ownUrl` is the address that the server listens on. */
export type OpenResponse = (requestId: string, request: Request, ownUrl: string) => Awaitable<Response>

/**
 * The steps of a request:
 *
 * | step | where | |---|---|
 * | identify: request id, route, parameters | `#identify`, `request-id.ts` |
 * | authenticate: who calls, and may the key do this | `authenticate.ts`; strangers in turns: `#meet` |
 * | admit: requests in flight, unread answers, the turn | `#admit`, `admit.ts`, `response-bodies.ts`, `turns.ts`, `arrivals.ts`
 * |
 * | read the body, as text, as a file or as a load | `readBody`, `readUpload`, `readSmallUpload` and `readLoad` of the
 * exchange, called by handlers; `body.ts`, `upload-body.ts`, `uploads.ts` |
 * | run the route's handler | `#run`; a handler that waits for a run gives back its place meanwhile: `pause` of the exchange |
 * | answer: text, file or error | `respond.ts`, `response-bodies.ts`, `rooms.ts`, `response-stream.ts`, `respond-failure.ts` |
 * | log and measure | `observe.ts`, `request-log.ts` |
 * The steps are plain calls, not a chain of functions. A read runs all of them without a promise if few requests come with it.
 */
export class Pipeline implements Shared {
  readonly authenticator: Authenticator
  readonly bodies = new BodyReader()
  readonly turns = new Turns()
  readonly arrivals = new Arrivals(this.turns)
  readonly responseBodies = new ResponseBodies()
  readonly responseEnds = new ResponseEnds()
  replays = 0
  /** Requests that were refused for their user token, or for a login token, by the code of the error. */
  readonly tokenRefusals = { invalid_token: 0, expired_token: 0, revoked_token: 0, not_granted: 0 }
  readonly log: Log
  readonly uploads: Uploads
  readonly loads = new Loads()
  readonly feeds: Feeds
  readonly userWaits = new UserWaits()
  readonly downloads: Downloads
  readonly uploadBodies = new UploadBodies(this.bodies.smallChunks)
  readonly now: () => number
  setIdleTimeout: Shared['setIdleTimeout'] = () => {}
  baseUrlOf: Shared['baseUrlOf'] = () => ''
  readonly admission = new Admission()
  readonly #counter: ResponseCounter | undefined
  readonly #observers: Observers | undefined

  readonly #refuseHosts: Handler

  constructor(options: PipelineOptions) {
    const { log, logRequests, logSlowMs, responseCounter, fileCounter } = options
    const { organizations, changes } = options.engine
    this.feeds = new Feeds(changes, this.turns, this.userWaits, options)
    this.authenticator = new Authenticator(options)
    this.log = log
    this.now = options.now
    this.#counter = responseCounter
    this.uploads = new Uploads(fileCounter?.uploadRefused)
    this.downloads = new Downloads(fileCounter?.downloadRefused)
    this.#observers = Observers.of(responseCounter, logResponses({ log, organizations, logRequests, logSlowMs }))
    this.#refuseHosts = observed(this.#observers, noRoute, (request: Request) =>
      closingIfUnread(request, respondError(requestIdOf(request.headers), severalHosts())),
    )
  }

  stop(): void {
    this.bodies.stop()
    this.uploadBodies.stop()
    this.turns.stop()
    this.responseBodies.rooms.stop()
    this.responseEnds.stop()
  }

  /** The handler for one path: answers its methods, and rejects all others. */
  handlerFor(path: string, methods: Partial<Record<Method, Route>>): Handler {
    const allow = allowedMethods(methods)
    const word = literalParameter(path)
    const paramsOf = word === undefined ? longNameParameters(path) : (params: Params) => ({ ...params, ...word })
    // The wildcard stands for names that are too long, and matches empty segments too.
    const lost = path.endsWith('/*') ? this.#lost : undefined
    const entries: Partial<Record<string, { route: Route; countsAt: number | undefined }>> = {}
    for (const [method, route] of Object.entries(methods)) {
      entries[method] = { route, countsAt: this.#counter?.startOf(route.operationId) }
    }
    entries.HEAD ??= entries.GET
    const observedRoute = { path, operationOf: (method: string) => entries[method]?.route.operationId }
    const isObserved = this.#observers !== undefined
    const refuse = observed(this.#observers, observedRoute, (request: Request) =>
      lost !== undefined && hasEmptySegment(request.url) ? lost(request) : this.#withoutRoute(request, path, allow),
    )
    return (request, server) => {
      const startedAtMs = isObserved ? performance.now() : 0
      const { method } = request
      const entry = entries[method]
      if (entry === undefined || (lost !== undefined && hasEmptySegment(request.url))) return refuse(request, server)
      const exchange = this.#identify(request, entry.route, paramsOf)
      if (isObserved) exchange.observe(observedRoute, method, startedAtMs, entry.countsAt)
      return this.#respond(exchange)
    }
  }

  /** The handler for one path of `/files`, where URLs stand in for API keys. Its answers may be shown by browsers. */
  fileUrls(path: string, options: FileUrlOptions): Handler {
    const methods: Partial<Record<string, FileUrlRoute>> = fileUrlRoutes
    const allow = allowedMethods(fileUrlRoutes)
    const paramsOf = longNameParameters(path) ?? ((params: Params) => params)
    const routeOf = (method: string): FileUrlRoute | undefined => methods[method === 'HEAD' ? 'GET' : method]
    const answer = (request: Request, observed: ObservedResponse | undefined): Awaitable<Response> => {
      if (path.endsWith('/*') && hasEmptySegment(request.url)) return this.#lost(request)
      const route = routeOf(request.method)
      if (route === undefined) return this.#withoutRoute(request, path, allow)
      const requestId = requestIdOf(request.headers)
      try {
        const exchange = new FileUrlExchange(request, paramsOf(request.params), requestId, route, this, options)
        if (observed !== undefined) observed.exchange = exchange
        return this.#respond(exchange)
      } catch (error) {
        return closingIfUnread(request, respondFailure(this.log, requestId, error))
      }
    }
    const operationOf = (method: string): string | undefined => routeOf(method)?.operationId
    return observed(this.#observers, { path, operationOf }, async (request, _server, observed) =>
      asUrlResponse(await answer(request, observed)),
    )
  }

  /** The handler for the tools of agents. */
  mcp(path: string, server: McpServer, options: McpEndpointOptions): Handler {
    const route = mcpRoute(server)
    const foreign = foreignCaller(options)
    const operationOf = (method: string): string | undefined => (method === 'POST' ? route.operationId : undefined)
    const observedRoute = { path, operationOf }
    const isObserved = this.#observers !== undefined
    const countsAt = this.#counter?.startOf(route.operationId)
    const refuse = observed(this.#observers, observedRoute, (request: Request) => {
      if (request.method !== 'POST') return this.#withoutRoute(request, path, 'OPTIONS, POST')
      return closingIfUnread(request, respondForeign(requestIdOf(request.headers), foreign(request.headers)!))
    })
    return (request, server) => {
      const startedAtMs = isObserved ? performance.now() : 0
      const { method, headers } = request
      if (method !== 'POST' || foreign(headers) !== undefined) return refuse(request, server)
      const exchange = new McpExchange(request, {}, requestIdOf(headers), route, this)
      if (isObserved) exchange.observe(observedRoute, method, startedAtMs, countsAt)
      return this.#respond(exchange)
    }
  }

  /** A route that needs no key and answers only GET and HEAD. */
  open(path: string, operation: string, answer: OpenResponse): Handler {
    const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'
    const operationOf = (method: string): string | undefined => (isRead(method) ? operation : undefined)
    return observed(this.#observers, { path, operationOf }, async (request, server) => {
      if (!isRead(request.method)) return this.#withoutRoute(request, path, 'GET, HEAD, OPTIONS')
      const requestId = requestIdOf(request.headers)
      try {
        return closingIfUnread(request, await answer(requestId, request, server.url.origin))
      } catch (error) {
        return respondFailure(this.log, requestId, error)
      }
    })
  }

  health(path: string, operation: string, check: () => Awaitable<boolean>, status: string): Handler {
    return this.open(path, operation, async (requestId) => {
      const well = await (async () => check())().catch(() => false)
      if (well) return respondJson(requestId, { status })
      return respondError(requestId, new CubbyError('unavailable', 'The store cannot serve requests now.'))
    })
  }

  /** The handler for requests with one host. Bun joins several Host headers, which no name of a host looks like. */
  withOneHost(handler: Handler): Handler {
    return (request, server) =>
      request.headers.get('host')?.includes(', ') === true
        ? this.#refuseHosts(request, server)
        : handler(request, server)
  }

  notFound(): Handler {
    return observed(this.#observers, noRoute, this.#lost)
  }

  readonly #lost = (request: Request): Response => {
    const requestId = requestIdOf(request.headers)
    if (request.method === 'OPTIONS') return respondPreflight(requestId)
    const error = new CubbyError('route_not_found', 'No route has this path.', {
      hint: lostPathHint(request.method, pathOf(request.url)),
    })
    return closingIfUnread(request, respondError(requestId, error))
  }

  #withoutRoute(request: Request, path: string, allow: string): Response {
    const requestId = requestIdOf(request.headers)
    if (request.method === 'OPTIONS') return respondPreflight(requestId)
    const error = new CubbyError('method_not_allowed', `${request.method} is not a method of this path.`, {
      hint: wrongMethodHint(request.method, path, request.params, allow),
    })
    return closingIfUnread(request, respondError(requestId, error, { allow }))
  }

  #identify(request: Request, route: Route, paramsOf: ((params: Params) => Params) | undefined): RequestExchange {
    const params = paramsOf === undefined ? request.params : paramsOf(request.params)
    return new RequestExchange(request, params, requestIdOf(request.headers), route, this)
  }

  #respond(exchange: RequestExchange): Awaitable<Response> {
    try {
      const authenticated = exchange.isKnown() ? exchange.authenticate() : this.#meet(exchange)
      if (authenticated instanceof Promise || this.#mayWait(exchange.route)) {
        const isText = exchange.route.body === 'text'
        return isText && !(authenticated instanceof Promise)
          ? this.#respondBody(exchange)
          : this.#respondLater(exchange, authenticated)
      }
      if (!this.arrivals.takesReads()) return this.#respondNow(exchange)
      return this.arrivals.run(
        () => this.#respondNow(exchange),
        () => this.#respondLater(exchange, undefined),
      )
    } catch (error) {
      return this.#endWithError(exchange, error)
    }
  }

  /**
   * Authenticates a request whose organization is not known yet. All such requests take turns as one caller, so that forged
   * keys and URLs get the time of one, however many there are.
   */
  #meet(exchange: RequestExchange): Awaitable<void> {
    const authenticate = (): Awaitable<void> => {
      this.turns.begin(strangers.orgId, strangers.keySeq)
      try {
        return exchange.authenticate()
      } finally {
        this.turns.end()
      }
    }
    return this.turns.isFree ? authenticate() : this.#meetInTurn(authenticate)
  }

  async #meetInTurn(authenticate: () => Awaitable<void>): Promise<void> {
    const stranger = { ...strangers, isAdmitted: false }
    this.admission.admit(stranger)
    try {
      await this.turns.run(stranger.orgId, stranger.keySeq, authenticate)
    } finally {
      this.admission.leave(stranger)
    }
  }

  #respondNow(exchange: RequestExchange): Awaitable<Response> {
    try {
      const response = this.#run(exchange)
      if (response instanceof Promise) return this.#respondWhenRun(exchange, response)
      return this.#seen(exchange, closingIfUnread(exchange.request, response), this.turns.endedAtMs)
    } catch (error) {
      return this.#endWithError(exchange, error)
    }
  }

  /** A request that cannot be answered at once is in flight and must be admitted. */
  async #respondLater(exchange: RequestExchange, authenticated: Awaitable<void>): Promise<Response> {
    try {
      if (authenticated instanceof Promise) await authenticated
      this.#admit(exchange)
      return this.#seen(exchange, await this.#runInTurn(exchange))
    } catch (error) {
      return this.#endWithError(exchange, error)
    } finally {
      this.#leave(exchange)
    }
  }

  #runInTurn(exchange: RequestExchange): Awaitable<Response> {
    const { orgId, keySeq } = exchange
    if (exchange.isSmallUpload) {
      // Together with others: most of their bytes have arrived by then, too.
      const begin = (): Awaitable<Response> => {
        this.turns.begin(orgId, keySeq, true)
        return exchange.run()
      }
      const beginLater = (): Promise<Response> =>
        this.turns.run(orgId, keySeq, () => andThen(exchange.authenticate(), begin))
      return this.arrivals.run(begin, beginLater)
    }
    // Others with a body wait for their turn after it has arrived: see `readBody`.
    if (exchange.route.body !== undefined) return exchange.run()
    if (this.turns.isFree) return this.#run(exchange)
    // The key may have been revoked meanwhile.
    const runAgain = (): Awaitable<Response> => andThen(exchange.authenticate(), () => this.#run(exchange))
    return this.turns.run(orgId, keySeq, runAgain)
  }

  /** The same for a request that is authenticated and has a small body, with fewer promises. */
  #respondBody(exchange: RequestExchange): Awaitable<Response> {
    const end = (response: Response): Response => {
      this.#leave(exchange)
      return this.#seen(exchange, response)
    }
    const endWithError = (error: unknown): Awaitable<Response> => {
      try {
        return this.#endWithError(exchange, error)
      } finally {
        this.#leave(exchange)
      }
    }
    try {
      this.#admit(exchange)
      const response = exchange.run()
      return response instanceof Promise ? response.then(end, endWithError) : end(response)
    } catch (error) {
      return endWithError(error)
    }
  }

  async #respondWhenRun(exchange: RequestExchange, response: Promise<Response>): Promise<Response> {
    try {
      return this.#seen(exchange, closingIfUnread(exchange.request, await response))
    } catch (error) {
      return this.#endWithError(exchange, error)
    }
  }

  /**
   * Every answer of an exchange passes here: the log and the metrics see it. A caller that has looked at the clock gives
   * the time.
   */
  #seen(exchange: RequestExchange, response: Response, endedAtMs?: number): Response {
    if (exchange.matched !== undefined) this.#observers!.see(exchange.end(response, endedAtMs))
    return response
  }

  #endWithError(exchange: RequestExchange, error: unknown): Awaitable<Response> {
    return andThen(this.#respondError(exchange, error), (response) => this.#seen(exchange, response))
  }

  #mayWait(route: Route<string>): boolean {
    return route.keyNeeded !== 'read' || route.body !== undefined || route.waits === true || !this.turns.isFree
  }

  #admit(exchange: RequestExchange): void {
    this.admission.admit(exchange)
    exchange.refuseIfFull()
  }

  #leave(exchange: RequestExchange): void {
    exchange.endTurn()
    exchange.leaveRoom()
    if (!exchange.isAdmitted) return
    this.bodies.release(exchange)
    this.admission.leave(exchange)
  }

  /** The time until the handler first waits is charged to the caller. */
  #run(exchange: RequestExchange): Awaitable<Response> {
    this.turns.begin(exchange.orgId, exchange.keySeq)
    try {
      return exchange.route.handler(exchange)
    } finally {
      this.turns.end()
    }
  }

  #countRefusal(code: string): void {
    if (Object.hasOwn(this.tokenRefusals, code)) this.tokenRefusals[code as keyof Pipeline['tokenRefusals']]++
  }

  #withHint({ route, params, user }: RequestExchange, error: CubbyError): CubbyError {
    return user === undefined ? withBetterHint(route.operationId, params, error) : withoutNames(error)
  }

  #respondError(exchange: RequestExchange, error: unknown): Awaitable<Response> {
    const { request, requestId, route, params } = exchange
    const hinted = error instanceof CubbyError ? this.#withHint(exchange, error) : error
    if (error instanceof CubbyError) this.#countRefusal(error.code)
    const response = respondFailure(this.log, requestId, hinted, {
      names: namesIn(params),
      forShell: wantsShellHints(request.headers),
    })
    return route.body === undefined || route.body === 'text'
      ? closingIfUnread(request, response)
      : exchange.leaveUpload(response)
  }
}
