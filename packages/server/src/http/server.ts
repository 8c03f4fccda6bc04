import type { Server } from 'bun'
import type { Awaitable } from '../core/awaitable.ts'
import { describeValue } from '../core/describe-value.ts'
import { CubbyError } from '../core/errors.ts'
import type { SuggestedCall } from '../core/hint.ts'
import { connectionIdleSecondsMax } from '../core/limits.ts'
import type { ReadPage } from '../mcp/resources.ts'
import { McpServer } from '../mcp/server.ts'
import { watchConnections } from './connections.ts'
import { consoleHandlers } from './console-endpoint.ts'
import { baseUrl, entryPoint } from './entry-point.ts'
import { fileUrlPaths } from './file-url-endpoint.ts'
import { httpHint } from './hint-text.ts'
import { mcpPath } from './mcp-endpoint.ts'
import { queryOf } from './observe.ts'
import { type AgentPages, type AgentPath, type ConsolePages, type Page, type Pages, respondPage } from './pages.ts'
import { type Handler, type OpenResponse, Pipeline, type PipelineOptions } from './pipeline.ts'
import { respondFailure } from './respond-failure.ts'
import { openRoutes, type RouteTable, servedRoutes } from './routes.ts'
import type { Peer } from './send-queues.ts'

interface HttpOptions extends PipelineOptions {
  host: string
  port: number
  /** The address at which callers reach the server, without a slash at its end. Default: `Host` of each request. */
  publicUrl?: string
  /** The OpenAPI document and the page that shows it. */
  pages: Pages
  /** The pages for agents. */
  agentPages: AgentPages
  /** Absent: without the console. */
  console?: ConsolePages
  /** Absent: without the tools of agents. */
  mcp?: { readPage: ReadPage; allowedOrigins: readonly string[] }
  /** Share the port with other Cubby processes. */
  reusePort?: boolean
  /** The routes that need a key. Default: those of the API. */
  routes?: RouteTable
}

export interface HttpServer {
  readonly url: string
  /** Requests that have no answer yet. */
  readonly inFlight: number
  /** Those of them that send a file. */
  readonly uploadsInFlight: number
  readonly loadsInFlight: number
  /** The lines of loads. */
  readonly loadLines: { stored: number; skipped: number; refused: number }
  /** Requests that were refused because there was no room for their answers. */
  readonly responsesRefused: { unread: number; late: number }
  /** Requests that were applied before, under their idempotency key. */
  readonly replays: number
  /** Requests that were refused for their user token, or for a login token, by the code of the error. */
  readonly tokenRefusals: Readonly<Record<string, number>>
  /** Those who follow tables. */
  readonly changes: { streams: number; waits: number; refused: number; cut: number; lagMs: number }
  /** Stops accepting requests, and resolves when every accepted request is answered. */
  stop(): Promise<void>
  /** Closes all remaining connections. */
  cut(): void
}

/**
 * Bun's own wait may not end while the rest of a rejected body is outstanding, or a stream was cut whose reader takes nothing.
 * So we wait only for the answers and for the streams, and a moment longer for their last bytes.
 */
const untilAnswered = async (server: Server<undefined>, { feeds }: Pipeline): Promise<void> => {
  while (server.pendingRequests > feeds.openCutCount) await Bun.sleep(10)
  await Bun.sleep(100)
}

/** The whole document, or its part for `?area=`. */
const documentFor = (pages: Pages, url: string): Promise<Page> => {
  const area = new URLSearchParams(queryOf(url)).get('area')
  if (area === null) return pages.document()
  if (pages.areas.includes(area)) return pages.part(area)
  throw new CubbyError('invalid_request', `area is ${describeValue(area)}; it takes the name of a part.`, {
    field: 'area',
    hint: `Parts: ${pages.areas.join(', ')}. Leave area out for the whole document.`,
  })
}

const openHandlersOf = (
  pipeline: Pipeline,
  { engine, pages, agentPages, publicUrl, console: consolePages, mcp }: HttpOptions,
): Record<keyof typeof openRoutes, Handler> => {
  const open = (path: keyof typeof openRoutes, answer: OpenResponse): Handler =>
    pipeline.open(path, openRoutes[path], answer)
  const openAgentPage = (path: AgentPath): Handler =>
    open(path, (id, request, ownUrl) => {
      const base = baseUrl(publicUrl, request.headers.get('host'), ownUrl)
      return respondPage(id, request, agentPages.page(path, base))
    })
  return {
    '/': open('/', entryPoint(publicUrl, { hasConsole: consolePages !== undefined, hasMcp: mcp !== undefined })),
    '/healthz': pipeline.health('/healthz', openRoutes['/healthz'], () => true, 'ok'),
    '/readyz': pipeline.health('/readyz', openRoutes['/readyz'], () => engine.ready(), 'ready'),
    '/openapi.json': open('/openapi.json', async (id, request) =>
      respondPage(id, request, await documentFor(pages, request.url)),
    ),
    '/docs': open('/docs', async (id, request) => respondPage(id, request, await pages.docs())),
    '/docs.md': openAgentPage('/docs.md'),
    '/SKILL.md': openAgentPage('/SKILL.md'),
    '/.well-known/agent-skills/index.json': openAgentPage('/.well-known/agent-skills/index.json'),
    '/llms.txt': openAgentPage('/llms.txt'),
  }
}

const mcpHandlers = (pipeline: Pipeline, { mcp, log, host, publicUrl }: HttpOptions): Record<string, Handler> => {
  if (mcp === undefined) return {}
  const { readPage, allowedOrigins } = mcp
  const callText = (call: SuggestedCall): string => httpHint([call])!
  const server = new McpServer({ readPage, log, callText })
  return { [mcpPath]: pipeline.mcp(mcpPath, server, { host, publicUrl, allowedOrigins }) }
}

export const startHttp = (options: HttpOptions): HttpServer => {
  const pipeline = new Pipeline(options)
  const handlers: Record<string, Handler> = {
    ...Object.fromEntries(
      Object.entries(options.routes ?? servedRoutes).map(([path, methods]) => [
        path,
        pipeline.handlerFor(path, methods),
      ]),
    ),
    // Otherwise these paths would be those of records.
    // What is below it and has no route is never the key of a record.
    '/v1/:db/_tasks/*': pipeline.notFound(),
    ...openHandlersOf(pipeline, options),
    ...(options.console && consoleHandlers(pipeline, options.console)),
    ...mcpHandlers(pipeline, options),
    ...Object.fromEntries(fileUrlPaths.map((path) => [path, pipeline.fileUrls(path, options)])),
  }
  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: options.reusePort ?? false,
    // Otherwise Bun itself answers some paths, with information about the process.
    development: false,
    idleTimeout: connectionIdleSecondsMax,
    // Bun's answer to a body that is too large has no error body, so we count the bytes ourselves.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    routes: Object.fromEntries(
      Object.entries(handlers).map(([path, handler]) => [path, pipeline.withOneHost(handler)]),
    ),
    fetch: pipeline.withOneHost(pipeline.notFound()) as (
      request: Request,
      server: Server<undefined>,
    ) => Awaitable<Response>,
    error: (error) => respondFailure(options.log, 'unknown', error),
  })
  pipeline.baseUrlOf = ({ headers }) => baseUrl(options.publicUrl, headers.get('host'), server.url.origin)
  pipeline.responseEnds.isOpen = (request) => server.requestIP(request) !== null
  const peerOf = (request: Request): Peer | null => {
    const peer = server.requestIP(request)
    return peer && { address: peer.address, port: peer.port, localPort: server.port! }
  }
  pipeline.downloads.peerOf = peerOf
  pipeline.feeds.peerOf = peerOf
  pipeline.setIdleTimeout = (request, seconds) => server.timeout(request, seconds)
  pipeline.feeds.setIdleTimeout = pipeline.setIdleTimeout
  const watch = watchConnections(server, options.log)
  return {
    url: server.url.origin,
    get inFlight() {
      return server.pendingRequests - pipeline.feeds.streamCount - pipeline.feeds.openCutCount
    },
    get uploadsInFlight() {
      return pipeline.uploads.count
    },
    get loadsInFlight() {
      return pipeline.loads.count
    },
    get loadLines() {
      return pipeline.loads.lines
    },
    get responsesRefused() {
      return pipeline.responseBodies.refused
    },
    get replays() {
      return pipeline.replays
    },
    get tokenRefusals() {
      return pipeline.tokenRefusals
    },
    get changes() {
      return pipeline.feeds.measures
    },
    async stop() {
      clearInterval(watch)
      pipeline.loads.stop()
      pipeline.feeds.stop()
      await Promise.race([server.stop(false), untilAnswered(server, pipeline)])
      await server.stop(true)
      pipeline.stop()
    },
    cut: () => void server.stop(true),
  }
}
