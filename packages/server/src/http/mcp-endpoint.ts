import { type Awaitable, andThen } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { batchBodyBytesMax } from '../core/limits.ts'
import { isLoopbackAddress, isLoopbackHost } from '../core/loopback.ts'
import { parseName } from '../core/names.ts'
import type { BuiltResponse, Slices } from '../core/slices.ts'
import type { McpHeaders } from '../mcp/headers.ts'
import { RpcError, rpcCodes, rpcErrorJson } from '../mcp/rpc-error.ts'
import { isBatch, type McpRequest, type McpServer } from '../mcp/server.ts'
import type { Endpoint } from '../mcp/tools.ts'
import type { Access } from '../operations/access.ts'
import type { RefuseBody } from './body.ts'
import { BodyAbandoned } from './body-faults.ts'
import type { Exchange } from './exchange.ts'
import { parseParameters } from './query-parameters.ts'
import { RequestExchange } from './request-exchange.ts'
import { respondAccepted, respondLongMessage, respondMessage } from './respond.ts'
import type { Route } from './routes.ts'
import { statusOf } from './status.ts'

// `POST /mcp`: the tools of agents. The key is checked as for every request that reads; each tool checks itself whether it
// needs more.

export const mcpPath = '/mcp'

/** The operation for the log and the metrics. */
export const mcpOperation = 'callMcp'

export interface McpEndpointOptions {
  /** The address that the server listens on. */
  host: string
  publicUrl?: string
  /** Origins of web pages that may call, beside the server's own. */
  allowedOrigins: readonly string[]
}

// ── Pages that reach a server they should not: DNS rebinding ───────────────────────────────────────────────

/**
 * A longer text is refused unparsed: no origin is longer, and parsing what anybody can send would take half a millisecond.
 */
const originCharactersMax = 300

/** The values of `Host` that name the host of this URL: some proxies add the default port. None if it is no URL. */
const hostsOf = (text: string): readonly string[] => {
  const url = URL.parse(text)
  if (url === null) return []
  const { host, port, protocol } = url
  return port === '' ? [host, `${host}:${protocol === 'https:' ? 443 : 80}`] : [host]
}

/**
 * Says why a request is refused for the page that sent it: a page of another origin, or one whose name was made to point at
 * this machine. This is checked before the key.
 */
export const foreignCaller = ({ host, publicUrl, allowedOrigins }: McpEndpointOptions) => {
  const listensOnLoopback = isLoopbackAddress(host)
  const known = [...allowedOrigins, ...(publicUrl === undefined ? [] : [publicUrl])].flatMap(hostsOf)
  /** The last `Host` that was accepted: nearly every request has the same. */
  let ownBefore: string | undefined
  const isOwn = (origin: string, own: string): boolean =>
    origin.length <= originCharactersMax &&
    (hostsOf(origin).includes(own) || allowedOrigins.includes(origin.toLowerCase()))
  return (headers: Headers): string | undefined => {
    const origin = headers.get('origin')
    const sent = headers.get('host') ?? ''
    if (origin === null && sent === ownBefore) return undefined
    const own = sent.toLowerCase()
    if (origin !== null && !isOwn(origin, own)) {
      return 'The request was sent by a web page of another origin. Name that origin in --allowed-origins.'
    }
    if (listensOnLoopback && !isLoopbackHost(own) && !known.includes(own)) {
      return 'Host is not a name of this machine. If a proxy passes it, give the server --public-url.'
    }
    ownBefore = sent
    return undefined
  }
}

export const respondForeign = (requestId: string, reason: string): Response =>
  respondMessage(requestId, rpcErrorJson(new RpcError(rpcCodes.invalidRequest, reason), undefined), 403)

// ── The request ────────────────────────────────────────────────────────────────────────────────────────────

/** A call counts as a write, with any key: the answer to a write cannot be refused afterwards. */
export class McpExchange extends RequestExchange {
  override get isRead(): boolean {
    return false
  }

  /** Decided when the body is there, because a batch waits for room instead. */
  override refuseIfFull(): void {}

  override withBody<T>(bytesMax: number, use: (text: string) => Awaitable<T>, refuse?: RefuseBody<T>): Awaitable<T> {
    const useIfRoom = (text: string): Awaitable<T> => {
      if (!isBatch(text)) super.refuseIfFull()
      return use(text)
    }
    return super.withBody(bytesMax, useIfRoom, refuse)
  }
}

const refuseValue = (name: string, hint: string): never => {
  throw new CubbyError('invalid_request', `${name} has another value than it takes.`, { field: name, hint })
}

/** The parameters protect the caller's data, so a parameter with a typo is an error. */
const endpointOf = (url: string): Endpoint => {
  const { readOnly, db } = parseParameters(url, ['readOnly', 'db'])
  if (readOnly !== undefined && readOnly !== 'true') refuseValue('readOnly', 'Write it as readOnly=true.')
  if (db === undefined) return { readOnly: readOnly === 'true', db: undefined }
  try {
    return { readOnly: readOnly === 'true', db: parseName(db, 'db') }
  } catch (error) {
    throw error instanceof CubbyError
      ? new CubbyError('invalid_request', error.message, { field: 'db', hint: error.hint })
      : error
  }
}

/** A body that is not read is refused by the transport. */
const refusedBody = (requestId: string, error: unknown): Response => {
  if (!(error instanceof CubbyError) || error instanceof BodyAbandoned) throw error
  const status = statusOf[error.code]
  if (![400, 413, 415].includes(status)) throw error
  const code = error.code === 'invalid_json' ? rpcCodes.parseError : rpcCodes.invalidRequest
  return respondMessage(requestId, rpcErrorJson(new RpcError(code, error.message), undefined), status)
}

/** The protocol's own headers, which are read with the message. */
class RequestHeaders implements McpHeaders {
  readonly #headers: Headers

  constructor(headers: Headers) {
    this.#headers = headers
  }

  get version(): string | null {
    return this.#headers.get('mcp-protocol-version')
  }

  get method(): string | null {
    return this.#headers.get('mcp-method')
  }

  get name(): string | null {
    return this.#headers.get('mcp-name')
  }
}

/** The exchange as the tools see it. A class, because an object with getters costs more than a read. */
class ToolRequest implements McpRequest {
  readonly headers: McpHeaders

  constructor(
    readonly exchange: Exchange,
    readonly body: string,
    readonly endpoint: Endpoint,
  ) {
    this.headers = new RequestHeaders(exchange.request.headers)
  }

  get requestId(): string {
    return this.exchange.requestId
  }

  get access(): Access {
    return this.exchange.access
  }

  get nowMs(): number {
    return this.exchange.nowMs
  }

  get baseUrl(): string {
    return this.exchange.baseUrl
  }

  get signal(): AbortSignal {
    return this.exchange.signal
  }

  pause<T>(wait: () => Promise<T>): Promise<T> {
    return this.exchange.pause(wait)
  }

  runSlices<T>(slices: Slices<T>): Awaitable<T> {
    return this.exchange.runSlices(slices)
  }

  tryTakeRoom(built: BuiltResponse): boolean {
    return this.exchange.tryTakeRoom(built)
  }

  takeRoom(built: BuiltResponse): Promise<void> {
    return this.exchange.takeRoom(built)
  }

  addToRoom(bytes: number): void {
    this.exchange.addToRoom(bytes)
  }
}

export const mcpRoute = (server: McpServer): Route<typeof mcpOperation> => ({
  operationId: mcpOperation,
  keyNeeded: 'read',
  body: 'text',
  handler(exchange: Exchange): Awaitable<Response> {
    const { request, requestId } = exchange
    const endpoint = endpointOf(request.url)
    return exchange.withBody(
      batchBodyBytesMax,
      (body) =>
        andThen(server.answer(new ToolRequest(exchange, body, endpoint)), ({ status, text }) =>
          text === null ? respondAccepted(requestId) : respondLongMessage(exchange, text, status),
        ),
      (error) => refusedBody(requestId, error),
    )
  },
})
