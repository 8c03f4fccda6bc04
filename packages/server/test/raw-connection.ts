import { connect, type Socket } from 'node:net'
import { type ApiResponse, tryJson } from './api-response.ts'

// Sends requests byte for byte, for what fetch would normalize or not send: paths, headers, half bodies.

export interface RawOptions {
  key?: string
  /** The headers in order, with doubles; Host, Authorization and Content-Length are added unless they are here. */
  headers?: [string, string][]
  body?: string | Uint8Array
}

/** The bytes of a request. Text is written as UTF-8. */
export const rawRequest = (
  server: { port: number },
  method: string,
  target: string | Uint8Array,
  options: RawOptions = {},
): Uint8Array => {
  const headers = [...(options.headers ?? [])]
  const has = (name: string) => headers.some(([other]) => other.toLowerCase() === name)
  if (!has('host')) headers.unshift(['Host', `127.0.0.1:${server.port}`])
  if (options.key !== undefined && !has('authorization')) headers.push(['Authorization', `Bearer ${options.key}`])
  const body = Buffer.from(options.body ?? '')
  if (options.body !== undefined && !has('content-length') && !has('transfer-encoding')) {
    headers.push(['Content-Length', String(body.length)])
  }
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([
    Buffer.from(`${method} `),
    Buffer.from(target as string),
    Buffer.from(` HTTP/1.1\r\n${lines}\r\n`),
    body,
  ])
}

export interface RawConnection {
  send(bytes: string | Uint8Array): void
  /** The next response on this connection. A response to HEAD has no body, whatever its length says. */
  answer(toHead?: boolean): Promise<ApiResponse>
  /** Resolves when the server has closed its side. */
  closed: Promise<void>
  close(): void
}

export const connectRaw = async (port: number, waitMsMax = 20_000): Promise<RawConnection> => {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received = Buffer.alloc(0)
  let ended = false
  let wake = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const stir = () => {
    wake.resolve()
    wake = Promise.withResolvers<void>()
  }
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    stir()
  })
  const onEnd = () => {
    ended = true
    closed.resolve()
    stir()
  }
  socket.on('end', onEnd)
  socket.on('close', onEnd)
  const connected = Promise.withResolvers<void>()
  socket.once('connect', () => connected.resolve())
  // A reset after the answer is the server's right; before it, the answer is missing and that is what fails.
  socket.on('error', (error) => {
    connected.reject(error)
    onEnd()
  })
  await connected.promise

  const answer = async (toHead = false): Promise<ApiResponse> => {
    const deadline = Date.now() + waitMsMax
    for (;;) {
      const parsed = parseAnswer(received, toHead, ended)
      if (parsed !== undefined) {
        received = received.subarray(parsed.length)
        return parsed.answer
      }
      if (ended) throw new Error(`the connection ended before a whole answer: ${received.toString('latin1')}`)
      const left = deadline - Date.now()
      if (left <= 0) throw new Error(`no answer within ${waitMsMax} ms: ${received.toString('latin1')}`)
      await Promise.race([wake.promise, Bun.sleep(left)])
    }
  }
  return {
    send: (bytes) => void socket.write(bytes),
    answer,
    closed: closed.promise,
    close: () => void socket.destroy(),
  }
}

/** The first answer in `bytes` and how many it took; undefined while some of it is missing. */
const parseAnswer = (
  bytes: Buffer,
  toHead: boolean,
  ended: boolean,
): { answer: ApiResponse; length: number } | undefined => {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine, ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const status = Number(statusLine!.split(' ')[1])
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const bodyStart = headEnd + 4
  const body = parseBody(bytes.subarray(bodyStart), status, headers, toHead, ended)
  if (body === undefined) return undefined
  const text = body.bytes.toString()
  return { answer: { status, headers, text, body: tryJson(text) }, length: bodyStart + body.length }
}

const parseBody = (
  rest: Buffer,
  status: number,
  headers: Headers,
  toHead: boolean,
  ended: boolean,
): { bytes: Buffer; length: number } | undefined => {
  if (toHead || status === 100 || status === 204 || status === 304) return { bytes: Buffer.alloc(0), length: 0 }
  if (headers.get('transfer-encoding')?.includes('chunked')) {
    const parts: Buffer[] = []
    for (let at = 0; ; ) {
      const lineEnd = rest.indexOf('\r\n', at)
      if (lineEnd < 0) return undefined
      const size = Number.parseInt(rest.subarray(at, lineEnd).toString('latin1'), 16)
      const next = lineEnd + 2 + size + 2
      if (rest.length < next) return undefined
      if (size === 0) return { bytes: Buffer.concat(parts), length: next }
      parts.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size))
      at = next
    }
  }
  const length = headers.get('content-length')
  if (length === null) return ended ? { bytes: rest, length: rest.length } : undefined
  return rest.length < Number(length) ? undefined : { bytes: rest.subarray(0, Number(length)), length: Number(length) }
}
