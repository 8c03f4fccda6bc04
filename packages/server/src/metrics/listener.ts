import { type AddressInfo, createServer, type Socket } from 'node:net'
import { metricsConnectionsMax, metricsRequestMsMax } from '../core/limits.ts'
import { isLoopbackAddress, isLoopbackHost, nameOfHost } from '../core/loopback.ts'
import { chooseFormat, contentTypes, type Format } from './exposition.ts'
import type { Registry } from './registry.ts'

// The listener of --metrics. It is apart from the API: another address, no keys, one page. Each connection is one request,
// so that connections can be counted and bounded, which Bun's own server does not do.

const headBytesMax = 8_192
/** The longest time from the request to the end of the connection. */
const responseMsMax = 15_000

/**
 * The reason why the listener did not serve a connection: its `Host` is foreign, it sent no request in time, it had sent none
 * when a newcomer needed its slot, it found no slot, or its response was not taken in time.
 */
const refusals = ['host', 'idle', 'replaced', 'full', 'late'] as const
export type Refusal = (typeof refusals)[number]

/** Counts connections that were not served. */
export const countRefusedScrapes = (registry: Registry): ((reason: Refusal) => void) => {
  const counter = registry.counter({
    name: 'cubby_metrics_connections_refused_total',
    help: 'Connections to the address of the metrics that were refused or closed, by reason.',
    labels: [{ name: 'reason', values: refusals }],
  })
  return (reason) => counter.add(1, refusals.indexOf(reason))
}

interface MetricsAddress {
  host: string
  port: number
}

interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

interface MetricsResponse {
  status: string
  headers: Record<string, string>
  body: string
}

const plain = (status: string, body: string, headers: Record<string, string> = {}): MetricsResponse => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers },
  body: `${body}\n`,
})

const valuesOf = (lines: readonly string[], form: RegExp): string[] =>
  lines.flatMap((line) => form.exec(line)?.[1]?.trim() ?? [])

const acceptIn = (lines: readonly string[]): string | undefined => {
  const values = valuesOf(lines, /^accept:(.*)$/i)
  return values.length === 0 ? undefined : values.join(',')
}

type Scrape = (format: Format) => Promise<string>

interface Site {
  scrape: Scrape
  /** Tells whether a request for this host is one for this listener. */
  takes(host: string): boolean
  onRefused(reason: Refusal): void
}

const answerTo = async (
  head: string,
  { scrape, takes, onRefused }: Site,
): Promise<{ answer: MetricsResponse; isHead: boolean }> => {
  const [first = '', ...lines] = head.split('\r\n')
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(first) ?? []
  const isHead = method === 'HEAD'
  if (method === undefined) return { answer: plain('400 Bad Request', 'This is not a request of HTTP/1.1.'), isHead }
  const hosts = valuesOf(lines, /^host:(.*)$/i)
  if (hosts.length > 1) return { answer: plain('400 Bad Request', 'There are several Host headers.'), isHead }
  if (!takes(hosts[0] ?? '')) {
    onRefused('host')
    return { answer: plain('403 Forbidden', 'Host is not a name of this machine.'), isHead }
  }
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

const send = (
  socket: Socket,
  { status, headers, body }: MetricsResponse,
  isHead: boolean,
  onSent: () => void,
): void => {
  const bytes = Buffer.from(body)
  const all = { ...headers, Vary: 'Accept', 'Content-Length': String(bytes.length), Connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`)
  socket.end(Buffer.concat([head, ...(isHead ? [] : [bytes])]), onSent)
}

/** Calls `onRequest` when the request is whole, then answers it, and calls `onSent` when the system has the answer. */
const serveConnection = (socket: Socket, site: Site, onRequest: () => void, onSent: () => void): void => {
  let head = ''
  let isAnswered = false
  const answer = (text: string): void => {
    isAnswered = true
    onRequest()
    void answerTo(text, site).then(({ answer, isHead }) => {
      if (!socket.destroyed) send(socket, answer, isHead, onSent)
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

interface Connection {
  timer: Timer
  /** Its request is whole, and its answer is not sent yet. */
  isServed: boolean
}

/** The connections that are open, the oldest first. */
class Connections {
  readonly #open = new Map<Socket, Connection>()
  readonly #site: Site
  readonly #requestMsMax: number

  constructor(site: Site, requestMsMax: number) {
    this.#site = site
    this.#requestMsMax = requestMsMax
  }

  accept(socket: Socket): void {
    if (this.#open.size >= metricsConnectionsMax && !this.#replaceOldest()) {
      this.#refuse(socket, 'full')
      return
    }
    const refuseAfter = (ms: number, reason: Refusal): Timer => setTimeout(() => this.#refuse(socket, reason), ms)
    const connection: Connection = { timer: refuseAfter(this.#requestMsMax, 'idle'), isServed: false }
    this.#open.set(socket, connection)
    socket.on('close', () => this.#leave(socket))
    const become = (isServed: boolean, msMax: number, reason: Refusal): void => {
      clearTimeout(connection.timer)
      if (this.#open.has(socket)) connection.timer = refuseAfter(msMax, reason)
      connection.isServed = isServed
    }
    // A client that leaves its connection open afterwards is idle again.
    const onSent = (): void => become(false, this.#requestMsMax, 'idle')
    serveConnection(socket, this.#site, () => become(true, responseMsMax, 'late'), onSent)
  }

  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy()
  }

  /** Ends the oldest that has sent no request, or has its answer. False if all are being served. */
  #replaceOldest(): boolean {
    for (const [socket, { isServed }] of this.#open) {
      if (isServed) continue
      this.#refuse(socket, 'replaced')
      return true
    }
    return false
  }

  #refuse(socket: Socket, reason: Refusal): void {
    this.#leave(socket)
    this.#site.onRefused(reason)
    socket.destroy()
  }

  #leave(socket: Socket): void {
    clearTimeout(this.#open.get(socket)?.timer)
    this.#open.delete(socket)
  }
}

interface ListenOptions {
  onRefused(reason: Refusal): void
  requestMsMax?: number
}

/** Rejects with the system's error if it cannot listen there. `port` 0 picks a free one. */
export const listenForScrapes = (
  { host, port }: MetricsAddress,
  scrape: Scrape,
  { onRefused, requestMsMax = metricsRequestMsMax }: ListenOptions,
): Promise<MetricsListener> =>
  new Promise((resolve, reject) => {
    let isLoopback = true
    // A name that resolves to a loopback address is one of this machine, too.
    const takes = (sent: string): boolean =>
      !isLoopback || isLoopbackHost(sent) || nameOfHost(sent) === host.toLowerCase()
    const connections = new Connections({ scrape, takes, onRefused }, requestMsMax)
    const server = createServer((socket) => connections.accept(socket))
    server.on('error', reject)
    server.listen(port, host, () => {
      const bound = server.address() as AddressInfo
      isLoopback = isLoopbackAddress(bound.address)
      const close = async (): Promise<void> => {
        connections.closeAll()
        await new Promise<void>((closed) => server.close(() => closed()))
      }
      resolve({ port: bound.port, close })
    })
  })
