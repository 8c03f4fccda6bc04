import type { BunRequest, Server } from 'bun'
import { type Awaitable, andThen } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { answerIdleSecondsMax, connectionIdleSecondsMax, requestsInFlightMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import { Shares } from '../core/shares.ts'
import type { Steps } from '../core/steps.ts'
import type { Access } from '../operations/access.ts'
import type { Engine } from '../store/engine.ts'
import { type AnswerBody, Answers } from './answers.ts'
import { authorize, findActiveKey, revoked } from './authenticate.ts'
import { BodyAbandoned, type BodyHolder, BodyReader } from './body.ts'
import { watchConnections } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { requestIdOf } from './request-id.ts'
import { type Pages, respondError, respondJson, respondPage, respondPreflight } from './respond.ts'
import { allowedMethods, literalHashKey, type Method, type openRoutes, type Route, routes } from './routes.ts'
import { Turns } from './turns.ts'

export interface HttpOptions {
  engine: Engine
  host: string
  port: number
  now(): number
  log: Log
  pages: Pages
  /** Share the port with other processes of ours. */
  reusePort?: boolean
  /** Log a line for every request. */
  logRequests: boolean
  /** Told of each use of a key; must be cheap. */
  onKeyUse(keyId: string, atMs: number): void
}

export interface HttpServer {
  readonly url: string
  /** Stops accepting and resolves when every accepted request is answered. */
  stop(): Promise<void>
  /** Cuts what is left. */
  cut(): void
}

type Request = BunRequest<string>

class RequestExchange implements Exchange, BodyHolder {
  access!: Access
  nowMs = 0
  heldBytes = 0
  constructor(
    readonly request: Request,
    readonly params: Exchange['params'],
    readonly requestId: string,
    private readonly service: Service,
    private readonly route: Route,
  ) {}

  get orgId(): number {
    return this.access.apiKey.orgId
  }

  get keySeq(): number {
    return this.access.apiKey.seq
  }

  authenticate(): Awaitable<void> {
    const { engine } = this.service.options
    this.nowMs = this.service.options.now()
    return andThen(findActiveKey(engine, this.request.headers.get('authorization'), this.nowMs), (apiKey) => {
      authorize(apiKey, this.route.keyNeeded, this.params.db, this.request.headers)
      this.service.noteKeyUse(apiKey.id, this.nowMs)
      this.access = { engine, apiKey }
    })
  }

  async readBody(bytesMax: number): Promise<string> {
    const { bodies, turns } = this.service
    const text = await bodies.read(this.request, bytesMax, this)
    if (!turns.isFree) await turns.wait(this.orgId, this.keySeq)
    turns.begin(this.orgId, this.keySeq, true)
    await this.authenticate()
    return text
  }

  runSteps<T>(steps: Steps<T>): Awaitable<T> {
    const { turns } = this.service
    while (turns.isFree) {
      const step = steps.next()
      if (step.done === true) return step.value
      turns.begin(this.orgId, this.keySeq, true)
    }
    return this.#runInTurns(steps)
  }

  async #runInTurns<T>(steps: Steps<T>): Promise<T> {
    const { turns } = this.service
    for (;;) {
      if (!turns.isFree) await turns.wait(this.orgId, this.keySeq)
      turns.begin(this.orgId, this.keySeq, true)
      const step = steps.next()
      if (step.done === true) return step.value
    }
  }

  bodyOf(text: string): AnswerBody {
    const { request, service } = this
    // The answer to HEAD has none, and Bun takes its length from the text.
    if (request.method === 'HEAD') return text
    const stream = service.answers.stream(this, text, this.route.keyNeeded === 'read', () =>
      service.setIdleTimeout(request, connectionIdleSecondsMax),
    )
    if (stream === undefined) return text
    service.setIdleTimeout(request, answerIdleSecondsMax)
    return stream
  }
}

const keyUseNoteMs = 1_000

const tooMany = (): CubbyError =>
  new CubbyError('unavailable', 'Too many requests with this API key are in flight; nothing was applied.', {
    hint: 'Repeat the request after the time in Retry-After.',
  })

type Handler = (request: Request, server: Server<undefined>) => Awaitable<Response>

class Service {
  readonly bodies = new BodyReader()
  readonly turns = new Turns()
  readonly answers = new Answers()
  readonly #inFlight = new Shares(requestsInFlightMax)
  /** How long a connection may be without progress, from this request on. */
  setIdleTimeout: (request: Request, seconds: number) => void = () => {}
  #notedKeyId = ''
  #notedAtMs = Number.NEGATIVE_INFINITY
  constructor(readonly options: HttpOptions) {}

  /** For one path: all methods that it knows, and an answer to those that it does not. */
  handlerFor(path: string, methods: Partial<Record<Method, Route>>): Handler {
    const allow = allowedMethods(methods)
    const hashKey = literalHashKey(path)
    return this.#logged(path, (request) => {
      const { method } = request
      const route = methods[(method === 'HEAD' ? 'GET' : method) as Method]
      if (route === undefined) return this.#withoutRoute(request, allow)
      const params = hashKey === undefined ? request.params : { ...request.params, hashKey }
      const exchange = new RequestExchange(request, params, requestIdOf(request.headers), this, route)
      return this.#answer(exchange, route)
    })
  }

  #answer(exchange: RequestExchange, route: Route): Awaitable<Response> {
    try {
      const authenticated = exchange.authenticate()
      if (authenticated instanceof Promise || route.keyNeeded !== 'read' || route.takesBody || !this.turns.isFree) {
        return this.#answerLater(exchange, route, authenticated)
      }
      const response = this.#runNow(exchange, route)
      return response instanceof Promise
        ? this.#caught(exchange, response)
        : closingIfUnread(exchange.request, response)
    } catch (error) {
      return closingIfUnread(exchange.request, this.answerError(exchange.requestId, error))
    }
  }

  /** Whatever cannot be answered at once is in flight, and counted. */
  async #answerLater(exchange: RequestExchange, route: Route, authenticated: Awaitable<void>): Promise<Response> {
    let isCounted = false
    try {
      if (authenticated instanceof Promise) await authenticated
      isCounted = this.#inFlight.tryTake(exchange.orgId, exchange.keySeq, 1)
      if (!isCounted) throw tooMany()
      if (route.keyNeeded !== 'read') this.answers.refuseIfFull(exchange.orgId, exchange.keySeq)
      // A request with a body has its turn when the body has arrived: see `readBody`.
      if (route.takesBody) return await route.handler(exchange)
      if (!this.turns.isFree) {
        await this.turns.wait(exchange.orgId, exchange.keySeq)
        // The key may have been revoked meanwhile.
        await exchange.authenticate()
      }
      return await this.#runNow(exchange, route)
    } catch (error) {
      return closingIfUnread(exchange.request, this.answerError(exchange.requestId, error))
    } finally {
      if (isCounted) {
        this.bodies.release(exchange)
        this.#inFlight.give(exchange.orgId, exchange.keySeq, 1)
      }
    }
  }

  /** What the handler does before it first waits is charged to the caller. */
  #runNow(exchange: RequestExchange, route: Route): Awaitable<Response> {
    this.turns.begin(exchange.orgId, exchange.keySeq)
    try {
      return route.handler(exchange)
    } finally {
      this.turns.end()
    }
  }

  async #caught(exchange: RequestExchange, response: Promise<Response>): Promise<Response> {
    try {
      return closingIfUnread(exchange.request, await response)
    } catch (error) {
      return closingIfUnread(exchange.request, this.answerError(exchange.requestId, error))
    }
  }

  stop(): void {
    this.bodies.stop()
    this.turns.stop()
  }

  /** A key that is used all the time need not be noted a thousand times a second. */
  noteKeyUse(keyId: string, nowMs: number): void {
    const sinceMs = nowMs - this.#notedAtMs
    if (keyId === this.#notedKeyId && sinceMs >= 0 && sinceMs < keyUseNoteMs) return
    this.#notedKeyId = keyId
    this.#notedAtMs = nowMs
    this.options.onKeyUse(keyId, nowMs)
  }

  answerError(requestId: string, error: unknown): Response {
    if (error instanceof CubbyError) {
      if (error.code === 'internal' || error.code === 'outcome_unknown') {
        this.options.log('error', 'request failed', { requestId, code: error.code, cause: error.cause })
      }
      // The writer knows that a key is gone, the door knows how to say it.
      const response = respondError(requestId, error.code === 'revoked_api_key' ? revoked() : error)
      if (error instanceof BodyAbandoned) response.headers.set('Connection', 'close')
      return response
    }
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.options.log('error', 'request failed', { requestId, cause })
    return respondError(
      requestId,
      new CubbyError('internal', 'The server failed to answer this request.', {
        hint: 'It is our fault; the log has the cause under this requestId.',
      }),
    )
  }

  #withoutRoute(request: Request, allow: string): Response {
    const requestId = requestIdOf(request.headers)
    if (request.method === 'OPTIONS') return respondPreflight(requestId)
    const error = new CubbyError('method_not_allowed', `${request.method} is not a method of this path.`, {
      hint: `It takes ${allow}.`,
    })
    return closingIfUnread(request, respondError(requestId, error, allow))
  }

  notFound(): Handler {
    return this.#logged(undefined, (request) => {
      const requestId = requestIdOf(request.headers)
      if (request.method === 'OPTIONS') return respondPreflight(requestId)
      const error = new CubbyError('route_not_found', 'No route has this path.', {
        hint: 'Records: /v1/:db/:table/:hashKey[/:rangeKey]; tables: /v1/:db/:table; keys: /api/keys. No trailing slash.',
      })
      return closingIfUnread(request, respondError(requestId, error))
    })
  }

  /** A route that needs no key and answers GET and HEAD alone. */
  open(path: string, answer: (requestId: string) => Awaitable<Response>): Handler {
    return this.#logged(path, async (request) => {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return this.#withoutRoute(request, 'GET, HEAD, OPTIONS')
      const requestId = requestIdOf(request.headers)
      try {
        return closingIfUnread(request, await answer(requestId))
      } catch (error) {
        return this.answerError(requestId, error)
      }
    })
  }

  health(path: string, check: () => Awaitable<boolean>, status: string): Handler {
    return this.open(path, async (requestId) => {
      const well = await (async () => check())().catch(() => false)
      if (well) return respondJson(requestId, { status })
      return respondError(requestId, new CubbyError('unavailable', 'The store cannot serve just now.'))
    })
  }

  /** Adds a line to the log for every request, if that is wanted; otherwise it is the handler itself. */
  #logged(path: string | undefined, handler: Handler): Handler {
    if (!this.options.logRequests) return handler
    return async (request, server) => {
      const started = performance.now()
      const response = await handler(request, server)
      this.options.log('info', 'request', {
        requestId: response.headers.get('x-request-id'),
        method: request.method,
        path: shownPath(path, request),
        status: response.status,
        ms: Math.round((performance.now() - started) * 100) / 100,
      })
      return response
    }
  }
}

/** One answer in so long leaves its connection open although the request's chunked body was not read. */
const unreadEveryMs = 500
let unreadAtMs = Number.NEGATIVE_INFINITY

/**
 * What is left of a chunked body that nobody reads is parsed chunk by chunk before the next request of the connection;
 * one of a known length costs nothing. Closing the connection ends that, but a client that is still sending may see it
 * broken before it sees the answer. So it is done only when such requests come in numbers.
 */
const closingIfUnread = (request: Request, response: Response): Response => {
  if (!request.headers.has('transfer-encoding') || request.bodyUsed) return response
  const nowMs = performance.now()
  if (nowMs - unreadAtMs < unreadEveryMs) response.headers.set('Connection', 'close')
  else unreadAtMs = nowMs
  return response
}

/** The path as it was matched: the URL that Bun gives has `..` and `\` resolved already. Without the query string. */
const shownPath = (path: string | undefined, request: Request): string =>
  path === undefined
    ? request.url.replace(/^[a-z]+:\/\/[^/]*/i, '').split('?', 1)[0]!
    : path.replace(/:(\w+)/g, (_, name: string) =>
        encodeURIComponent((request.params[name as never] as string).toWellFormed()),
      )

/**
 * Bun's own wait can go on for as long as a client leaves the rest of a refused body unread; we wait for the
 * answers alone, and a moment more for their last bytes.
 */
const untilAnswered = async (server: Server<undefined>): Promise<void> => {
  while (server.pendingRequests > 0) await Bun.sleep(10)
  await Bun.sleep(100)
}

export const startHttp = (options: HttpOptions): HttpServer => {
  const service = new Service(options)
  const handlers = Object.fromEntries(
    Object.entries(routes).map(([path, methods]) => [path, service.handlerFor(path, methods)]),
  )
  const openHandlers: Record<keyof typeof openRoutes, Handler> = {
    '/healthz': service.health('/healthz', () => true, 'ok'),
    '/readyz': service.health('/readyz', () => options.engine.ready(), 'ready'),
    '/openapi.json': service.open('/openapi.json', async (id) => respondPage(id, await options.pages.document())),
    '/docs': service.open('/docs', async (id) => respondPage(id, await options.pages.docs())),
  }
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: options.reusePort ?? false,
    // Otherwise Bun answers some paths of its own, with what it knows of the process.
    development: false,
    idleTimeout: connectionIdleSecondsMax,
    // Bun's own answer to a body that is too large is empty: we count ourselves.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    routes: {
      ...handlers,
      ...openHandlers,
    },
    fetch: service.notFound() as (request: globalThis.Request, server: Server<undefined>) => Awaitable<Response>,
    error: (error) => service.answerError('unknown', error),
  })
  service.setIdleTimeout = (request, seconds) => server.timeout(request, seconds)
  const watch = watchConnections(server, options.log)
  return {
    url: server.url.origin,
    async stop() {
      clearInterval(watch)
      await Promise.race([server.stop(false), untilAnswered(server)])
      await server.stop(true)
      service.stop()
    },
    cut: () => void server.stop(true),
  }
}
