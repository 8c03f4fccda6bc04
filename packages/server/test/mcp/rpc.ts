import type { Json, Server } from '../harness.ts'

// Requests to POST /mcp as a client writes them. The answers of the protocol are not errors of our API, so that the checks
// of `Api` do not fit.

export const newest = '2026-07-28'

export const requestMeta = {
  'io.modelcontextprotocol/protocolVersion': newest,
  'io.modelcontextprotocol/clientCapabilities': {},
}

export interface RpcResponse {
  status: number
  headers: Headers
  text: string
  body: Json
}

export interface PostOptions {
  key?: string
  headers?: Record<string, string>
  /** Query parameters, with the question mark. */
  query?: string
}

/** One POST with this body; text and bytes as they are. */
export const post = async (
  server: Pick<Server, 'url'>,
  body: Json,
  { key, headers = {}, query = '' }: PostOptions,
): Promise<RpcResponse> => {
  const response = await fetch(`${server.url}/mcp${query}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
    redirect: 'manual',
  })
  const text = await response.text()
  if (response.headers.get('x-request-id') === null) throw new Error('every answer carries x-request-id')
  if (response.headers.get('access-control-allow-origin') !== '*') throw new Error('every answer allows every origin')
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

const nameOf = ({ name, uri }: Json): string | undefined => name ?? uri

/** A request of the newest revision, with the headers that it needs. `headers` replaces some; null leaves one out. */
export const request = (
  server: Pick<Server, 'url'>,
  method: string,
  params: Json = {},
  { headers = {}, ...options }: Omit<PostOptions, 'headers'> & { headers?: Record<string, string | null> } = {},
): Promise<RpcResponse> => {
  const name = nameOf(params)
  const sent = {
    'mcp-protocol-version': newest,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
    ...headers,
  }
  const kept = Object.entries(sent).filter((header): header is [string, string] => header[1] !== null)
  const body = { jsonrpc: '2.0', id: 1, method, params: { _meta: requestMeta, ...params } }
  return post(server, body, { ...options, headers: Object.fromEntries(kept) })
}

/** A request of the older revisions. */
export const legacyRequest = (
  server: Pick<Server, 'url'>,
  method: string,
  params: Json | undefined,
  options: PostOptions,
): Promise<RpcResponse> => post(server, { jsonrpc: '2.0', id: 1, method, params }, options)
