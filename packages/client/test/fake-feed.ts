import { spyOn } from 'bun:test'
import type { Socket } from 'bun'
import { Cubby, type CubbyOptions } from '../src/index.ts'
import { key, optionsOf } from './fake-fetch.ts'

// A server of the changes of one table, on real sockets, so that a test decides what arrives, byte by byte, and when.

export interface FeedRequest {
  path: string
  headers: Record<string, string>
  body: Record<string, unknown>
  isStream: boolean
}

/** The connection of one request. */
export interface Connection {
  isOpen: boolean
  /** Bytes that the kernel has not taken. */
  readonly waiting: number
  write(text: string | Uint8Array): void
  /** The head of a stream. */
  head(type?: string): true
  json(body: unknown, status?: number, headers?: string): true
  /** Ends it properly. */
  end(): void
  /** Resets it. */
  cut(): void
}

type Answer = (request: FeedRequest, connection: Connection) => unknown

interface State {
  bytes: Buffer
  isAnswered: boolean
  connection: Connection
  rest: Uint8Array[]
  isEnding: boolean
}

const parseRequest = (bytes: Buffer): FeedRequest | undefined => {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [line, ...fields] = bytes.subarray(0, end).toString().split('\r\n')
  const headers = Object.fromEntries(
    fields.map((field) => [field.split(':', 1)[0]!.toLowerCase(), field.slice(field.indexOf(':') + 1).trim()]),
  )
  const body = bytes.subarray(end + 4)
  if (body.length < Number(headers['content-length'] ?? 0)) return undefined
  const isStream = headers.accept === 'text/event-stream'
  return { path: line!.split(' ')[1]!, headers, body: JSON.parse(body.toString() || '{}'), isStream }
}

const flush = (socket: Socket<State>): void => {
  const { rest } = socket.data
  while (rest.length > 0) {
    const written = Math.max(0, socket.write(rest[0]!))
    if (written < rest[0]!.length) {
      rest[0] = rest[0]!.subarray(written)
      return
    }
    rest.shift()
  }
  if (socket.data.isEnding) socket.end()
}

const connectionOf = (socket: Socket<State>): Connection => ({
  isOpen: true,
  get waiting() {
    return socket.data.rest.reduce((sum, { length }) => sum + length, 0)
  },
  write(given) {
    socket.data.rest.push(typeof given === 'string' ? new TextEncoder().encode(given) : given)
    flush(socket)
  },
  head(type = 'text/event-stream') {
    this.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nconnection: close\r\n\r\n`)
    return true
  },
  json(body, status = 200, headers = '') {
    const bytes = new TextEncoder().encode(JSON.stringify(body))
    const head = `HTTP/1.1 ${status} It\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\nconnection: close\r\n`
    this.write(`${head}${headers}\r\n`)
    this.write(bytes)
    this.end()
    return true
  },
  end() {
    socket.data.isEnding = true
    flush(socket)
  },
  cut: () => socket.terminate(),
})

export const startSockets = (answer: Answer) => {
  const open = new Set<Connection>()
  const server = Bun.listen<State>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = {
          bytes: Buffer.alloc(0),
          isAnswered: false,
          connection: connectionOf(socket),
          rest: [],
          isEnding: false,
        }
        open.add(socket.data.connection)
      },
      data(socket, bytes) {
        const state = socket.data
        state.bytes = Buffer.concat([state.bytes, bytes])
        const request = state.isAnswered ? undefined : parseRequest(state.bytes)
        if (request === undefined) return
        state.isAnswered = true
        answer(request, state.connection)
      },
      drain: flush,
      close(socket) {
        socket.data.connection.isOpen = false
        open.delete(socket.data.connection)
      },
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    open,
    stop: () => server.stop(true),
  }
}

export type Item = { op: 'put' | 'delete'; hashKey: string; rangeKey?: string; [member: string]: unknown }

export const put = (hashKey: string, data: object = {}, more: object = {}): Item => ({
  op: 'put',
  hashKey,
  data,
  updatedAt: 1,
  ...more,
})

export const errorBody = (code: string) => ({
  error: { code, message: `It is ${code}.`, hint: 'A hint.', requestId: 'r-1' },
})

export const eventText = (item: Item, id: string): string =>
  `event: ${item.op}\nid: ${id}\ndata: ${JSON.stringify(item)}\n\n`

/** The log of a table, and the requests for it. The cursor `c5` is the place after five items. */
export class FakeFeed {
  readonly requests: FeedRequest[] = []
  readonly items: Item[] = []
  /** Answers the query. */
  records: object[] = []
  /** Replaces the answer to a request, if it returns anything true. */
  intercept: (request: FeedRequest, connection: Connection, count: number) => unknown = () => false
  readonly #sockets = startSockets((request, connection) => this.#answer(request, connection))
  /** Streams that follow the log, by the number of items that they have sent. */
  readonly #streams = new Map<Connection, number>()

  get url(): string {
    return this.#sockets.url
  }

  get streams(): Connection[] {
    return [...this.#streams.keys()].filter(({ isOpen }) => isOpen)
  }

  get streamRequests(): FeedRequest[] {
    return this.requests.filter(({ isStream }) => isStream)
  }

  get queries(): FeedRequest[] {
    return this.requests.filter(({ path }) => path.endsWith('/query'))
  }

  cubby(options: Partial<CubbyOptions> = {}): Cubby {
    // With fast timers that is 30 s. A busy machine does not answer within the 300 ms that the default would be.
    return new Cubby(optionsOf({ url: this.url, key }, { timeoutMs: 3_000_000, ...options }))
  }

  table(options: Partial<CubbyOptions> = {}) {
    return this.cubby(options).db('app').table('orders')
  }

  add(...items: Item[]): void {
    this.items.push(...items)
    for (const stream of this.streams) this.#sendItems(stream)
  }

  stop(): void {
    this.#sockets.stop()
  }

  /** What the real server sends at first. */
  begin(connection: Connection, cursor: unknown): void {
    connection.head()
    connection.write('retry: 20\n\n')
    this.#streams.set(connection, Number(String(cursor ?? 'c0').slice(1)))
    this.#sendItems(connection)
    connection.write(`event: ready\nid: c${this.items.length}\ndata: {}\n\n`)
  }

  #sendItems(connection: Connection): void {
    let sent = this.#streams.get(connection)!
    for (const item of this.items.slice(sent)) connection.write(eventText(item, `c${++sent}`))
    this.#streams.set(connection, sent)
  }

  async #answer(request: FeedRequest, connection: Connection): Promise<unknown> {
    this.requests.push(request)
    const { path, body, isStream } = request
    if (await this.intercept(request, connection, this.requests.length)) return undefined
    if (path.endsWith('/query'))
      return connection.json({ items: this.records, count: this.records.length, cursor: null })
    if (isStream) return this.begin(connection, body.cursor)
    const from = body.from === 'now' ? this.items.length : Number(String(body.cursor ?? 'c0').slice(1))
    for (let waits = 0; body.waitSeconds && waits < 20 && this.items.length === from; waits++) await Bun.sleep(5)
    const items = this.items.slice(from, from + 2)
    const end = from + items.length
    return connection.json({ items, count: items.length, cursor: `c${end}`, more: end < this.items.length })
  }
}

const setRealTimeout = globalThis.setTimeout

/** The limits for silence. A busy machine may reach them early if they are shortened, so a test asks for that. */
export const firstBytesMs = 6_000
export const silenceMs = 40_000

/** Pauses of a second or more are a hundred times shorter. `pauses` has what was asked for. */
export const fastTimers = (limits: Record<number, number> = {}) => {
  const pauses: number[] = []
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    pauses.push(ms)
    const isLimit = ms === firstBytesMs || ms === silenceMs
    return setRealTimeout(work, isLimit ? (limits[ms] ?? ms) : ms >= 1_000 ? ms / 100 : ms)
  }) as typeof setTimeout)
  return { pauses, limits, restore: () => timers.mockRestore() }
}

/** Polls, on real timers. */
export const eventually = async (check: () => unknown): Promise<void> => {
  for (let i = 0; i < 2_000; i++) {
    if (check()) return
    await Bun.sleep(5)
  }
  throw new Error(`it never came true: ${check}`)
}
