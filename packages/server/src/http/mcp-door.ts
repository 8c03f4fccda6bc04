import { CubbyError } from '../core/errors.ts'
import { batchBodyBytesMax } from '../core/limits.ts'
import { parseName } from '../core/names.ts'
import { RpcError, rpcCodes, rpcErrorJson } from '../mcp/rpc-error.ts'
import type { McpServer } from '../mcp/server.ts'
import type { Endpoint } from '../mcp/tools.ts'
import { BodyAbandoned } from './body-faults.ts'
import type { Exchange } from './exchange.ts'
import { parseParameters } from './query-parameters.ts'
import { RequestExchange } from './request-exchange.ts'
import { respondAccepted, respondLongText, respondText } from './respond.ts'
import type { Route } from './routes.ts'
import { statusOf } from './status.ts'

// `POST /mcp`: the tools of agents. The key is checked as for every request, to read: each tool checks itself what it needs.

export const mcpPath = '/mcp'

export interface McpDoorOptions {
  /** The address that the server listens on. */
  host: string
  publicUrl?: string
  /** Origins of web pages that may call, beside the server's own. */
  allowedOrigins: readonly string[]
}

// ── Pages that reach a server they should not: DNS rebinding ───────────────────────────────────────────────

/** Without its port. */
const nameOf = (host: string): string => host.replace(/:[0-9]*$/, '').toLowerCase()

const isLoopbackName = (name: string): boolean =>
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === '[::1]' ||
  name === '::1' ||
  /^127(?:\.[0-9]{1,3}){3}$/.test(name)

/** The values of `Host` that name the host of this URL: some proxies add the default port. None if it is no URL. */
const hostsOf = (text: string): readonly string[] => {
  const url = URL.parse(text)
  if (url === null) return []
  const { host, port, protocol } = url
  return port === '' ? [host, `${host}:${protocol === 'https:' ? 443 : 80}`] : [host]
}

/**
 * Whether to refuse a request for the page that sent it: a page of another origin, or one whose name was made to point at this
 * machine. Judged before the key.
 */
export const foreignCaller = ({ host, publicUrl, allowedOrigins }: McpDoorOptions) => {
  const listensOnLoopback = isLoopbackName(nameOf(host.includes(':') ? `[${host}]` : host))
  const known = [...allowedOrigins, ...(publicUrl === undefined ? [] : [publicUrl])].flatMap(hostsOf)
  /** The last one that was not refused: nearly every request has the same. */
  let ownBefore: string | undefined
  return (headers: Headers): string | undefined => {
    const origin = headers.get('origin')
    const sent = headers.get('host') ?? ''
    if (origin === null && sent === ownBefore) return undefined
    const own = sent.toLowerCase()
    if (origin !== null && !hostsOf(origin).includes(own) && !allowedOrigins.includes(origin.toLowerCase())) {
      return 'The request was sent by a web page of another origin. Name that origin in --allowed-origins.'
    }
    if (listensOnLoopback && !isLoopbackName(nameOf(own)) && !known.includes(own)) {
      return 'Host is not a name of this machine. If a proxy passes it, give the server --public-url.'
    }
    ownBefore = sent
    return undefined
  }
}

export const respondForeign = (requestId: string, reason: string): Response =>
  respondText(requestId, rpcErrorJson(new RpcError(rpcCodes.invalidRequest, reason), undefined), 403)

// ── The request ────────────────────────────────────────────────────────────────────────────────────────────

/** A call may write, whatever its key: its answer cannot be refused afterwards. */
export class McpExchange extends RequestExchange {
  override get isRead(): boolean {
    return false
  }
}

const refuseValue = (name: string, hint: string): never => {
  throw new CubbyError('invalid_request', `${name} has another value than it takes.`, { field: name, hint })
}

/** A parameter protects the caller's data, so that one with a typo is an error. */
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
  return respondText(requestId, rpcErrorJson(new RpcError(code, error.message), undefined), status)
}

export const mcpRoute = (server: McpServer): Route<'callMcp'> => ({
  operationId: 'callMcp',
  keyNeeded: 'read',
  body: 'text',
  async handler(exchange: Exchange): Promise<Response> {
    const { request, requestId } = exchange
    const endpoint = endpointOf(request.url)
    let body: string
    try {
      body = await exchange.readBody(batchBodyBytesMax)
    } catch (error) {
      return refusedBody(requestId, error)
    }
    const { headers } = request
    const { status, text } = await server.answer({
      headers: {
        version: headers.get('mcp-protocol-version'),
        method: headers.get('mcp-method'),
        name: headers.get('mcp-name'),
      },
      body,
      endpoint,
      requestId,
      get access() {
        return exchange.access
      },
      get nowMs() {
        return exchange.nowMs
      },
      get baseUrl() {
        return exchange.baseUrl
      },
      get signal() {
        return exchange.signal
      },
      pause: (wait) => exchange.pause(wait),
      runSteps: (steps) => exchange.runSteps(steps),
    })
    return text === null ? respondAccepted(requestId) : respondLongText(exchange, text, status)
  },
})
