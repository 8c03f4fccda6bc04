import { createServer, type Socket } from 'node:net'
import { metricsConnectionsMax } from '../core/limits.ts'
import { chooseFormat, contentTypes, type Format } from './exposition.ts'

// The listener of --metrics. It is apart from the API: another address, no keys, one page. Each connection is one request,
// so that connections can be counted and bounded, which Bun's own server does not do.

const headBytesMax = 8_192
/** From the connection to the end of the answer. */
const connectionMsMax = 15_000

export interface MetricsAddress {
  host: string
  port: number
}

export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

interface Answer {
  status: string
  headers: Record<string, string>
  body: string
}

const plain = (status: string, body: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers },
  body: `${body}\n`,
})

const acceptIn = (lines: readonly string[]): string | undefined => {
  const values = lines.flatMap((line) => /^accept:(.*)$/i.exec(line)?.[1]?.trim() ?? [])
  return values.length === 0 ? undefined : values.join(',')
}

type Scrape = (format: Format) => Promise<string>

const answerTo = async (head: string, scrape: Scrape): Promise<{ answer: Answer; isHead: boolean }> => {
  const [first = '', ...lines] = head.split('\r\n')
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(first) ?? []
  const isHead = method === 'HEAD'
  if (method === undefined) return { answer: plain('400 Bad Request', 'This is not a request of HTTP/1.1.'), isHead }
  if (target!.split('?', 1)[0] !== '/metrics') {
    return { answer: plain('404 Not Found', 'The metrics are at /metrics.'), isHead }
  }
  if (method !== 'GET' && !isHead) {
    return { answer: plain('405 Method Not Allowed', 'GET /metrics is all.', { Allow: 'GET, HEAD' }), isHead }
  }
  const format = chooseFormat(acceptIn(lines))
  try {
    const body = await scrape(format)
    return { answer: { status: '200 OK', headers: { 'Content-Type': contentTypes[format] }, body }, isHead }
  } catch {
    return { answer: plain('500 Internal Server Error', 'The metrics could not be read.'), isHead }
  }
}

const send = (socket: Socket, { status, headers, body }: Answer, isHead: boolean): void => {
  const bytes = Buffer.from(body)
  const all = { ...headers, Vary: 'Accept', 'Content-Length': String(bytes.length), Connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`), ...(isHead ? [] : [bytes])]))
}

const serveConnection = (socket: Socket, scrape: Scrape): void => {
  let head = ''
  let isAnswered = false
  const answer = (text: string): void => {
    isAnswered = true
    void answerTo(text, scrape).then(({ answer, isHead }) => {
      if (!socket.destroyed) send(socket, answer, isHead)
    })
  }
  socket.setEncoding('latin1')
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: string) => {
    if (isAnswered) return
    head += chunk
    const end = head.indexOf('\r\n\r\n')
    if (end >= 0) answer(head.slice(0, end))
    else if (head.length > headBytesMax) answer('')
  })
}

/** Rejects with the system's error if it cannot listen there. `port` 0 picks a free one. */
export const listenForScrapes = ({ host, port }: MetricsAddress, scrape: Scrape): Promise<MetricsListener> =>
  new Promise((resolve, reject) => {
    const open = new Map<Socket, Timer>()
    const server = createServer((socket) => {
      if (open.size >= metricsConnectionsMax) return void socket.destroy()
      open.set(
        socket,
        setTimeout(() => socket.destroy(), connectionMsMax),
      )
      socket.on('close', () => {
        clearTimeout(open.get(socket))
        open.delete(socket)
      })
      serveConnection(socket, scrape)
    })
    server.on('error', reject)
    server.listen(port, host, () => {
      const close = async (): Promise<void> => {
        for (const socket of open.keys()) socket.destroy()
        await new Promise<void>((closed) => server.close(() => closed()))
      }
      resolve({ port: (server.address() as { port: number }).port, close })
    })
  })
