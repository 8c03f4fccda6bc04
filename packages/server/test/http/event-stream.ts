import { connect, type Socket } from 'node:net'
import type { Api, Json, Server } from '../harness.ts'
import { rawRequest } from '../raw-connection.ts'
import { type Block, BlockParser } from './event-blocks.ts'
import { freshName, ok, TestTable } from './service.ts'

// A reader of server-sent events on a raw socket: it sees the bytes as they come, and how the connection ends.

export interface StreamRequest {
  key: string
  body?: unknown
  headers?: [string, string][]
}

/** `whole`: with the last chunk. `cut`: without it. */
type End = 'whole' | 'cut'

const waitMsMax = 30_000

export class EventStream {
  status = 0
  headers = new Headers()
  readonly blocks: Block[] = []
  /** The blocks that have a name. */
  readonly events: Block[] = []
  end: End | undefined
  readonly socket: Socket
  #received = Buffer.alloc(0)
  #decoder = new TextDecoder()
  #texts: string[] = []
  readonly #parser = new BlockParser()
  #taken = 0
  #wake = Promise.withResolvers<void>()

  constructor(server: { port: number }) {
    this.socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    this.socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes])
      this.#parse()
      this.#stir()
    })
    for (const name of ['end', 'close', 'error'] as const) {
      this.socket.on(name, () => {
        this.end ??= 'cut'
        this.#stir()
      })
    }
  }

  /** The body so far, without its chunks. */
  get text(): string {
    return this.#texts.join('')
  }

  get lastId(): string | undefined {
    return this.blocks.findLast(({ id }) => id !== undefined)?.id
  }

  /** The local port of the connection. */
  get port(): number {
    return this.socket.localPort!
  }

  /** Resolves when it is true. */
  async until(what: string, isTrue: () => boolean): Promise<void> {
    const deadline = Date.now() + waitMsMax
    while (!isTrue()) {
      const leftMs = deadline - Date.now()
      if (leftMs <= 0) throw new Error(`did not come: ${what}; the stream so far:\n${this.text.slice(-2_000)}`)
      if (this.end !== undefined) throw new Error(`the stream ended before ${what}:\n${this.text.slice(-2_000)}`)
      const timer = setTimeout(this.#stir, leftMs)
      await this.#wake.promise
      clearTimeout(timer)
    }
  }

  /** The next event with a name that was not given yet. */
  async next(): Promise<Block> {
    await this.until('the next event', () => this.events.length > this.#taken)
    return this.events[this.#taken++]!
  }

  async take(count: number): Promise<Block[]> {
    const events: Block[] = []
    while (events.length < count) events.push(await this.next())
    return events
  }

  /** The events up to and with the next `ready`. */
  async untilReady(): Promise<Block[]> {
    const events: Block[] = []
    do events.push(await this.next())
    while (events.at(-1)!.event !== 'ready')
    return events
  }

  /** Resolves when the response is over, with its last event. */
  async ended(): Promise<Block | undefined> {
    const deadline = Date.now() + waitMsMax
    while (this.end === undefined) {
      if (Date.now() > deadline) throw new Error(`the stream does not end:\n${this.text.slice(-2_000)}`)
      const timer = setTimeout(this.#stir, waitMsMax)
      await this.#wake.promise
      clearTimeout(timer)
    }
    return this.events.at(-1)
  }

  /** Goes away without goodbye. */
  close(): void {
    this.socket.destroy()
  }

  readonly #stir = (): void => {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers<void>()
  }

  #parse(): void {
    if (this.status === 0 && !this.#parseHead()) return
    if (!this.headers.get('transfer-encoding')?.includes('chunked')) {
      this.#add(this.#received)
      this.#received = Buffer.alloc(0)
      if (Buffer.byteLength(this.text) >= Number(this.headers.get('content-length'))) this.end ??= 'whole'
      return
    }
    for (;;) {
      const lineEnd = this.#received.indexOf('\r\n')
      if (lineEnd < 0) return
      const size = Number.parseInt(this.#received.subarray(0, lineEnd).toString('latin1'), 16)
      const next = lineEnd + 2 + size + 2
      if (this.#received.length < next) return
      if (size === 0) this.end ??= 'whole'
      this.#add(this.#received.subarray(lineEnd + 2, lineEnd + 2 + size))
      this.#received = this.#received.subarray(next)
    }
  }

  #parseHead(): boolean {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return false
    const [statusLine, ...lines] = this.#received.subarray(0, headEnd).toString('latin1').split('\r\n')
    for (const line of lines) {
      const colon = line.indexOf(':')
      this.headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
    }
    this.status = Number(statusLine!.split(' ')[1])
    this.#received = this.#received.subarray(headEnd + 4)
    return true
  }

  #add(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true })
    this.#texts.push(text)
    if (this.headers.get('content-type') !== 'text/event-stream') return
    for (const block of this.#parser.add(text)) {
      this.blocks.push(block)
      if (block.event !== undefined) this.events.push(block)
    }
  }
}

/** Sends the request of a stream. Resolves when the head of the response has come. */
export const openStream = async (
  server: Pick<Server, 'port'>,
  path: string,
  { key, body, headers = [] }: StreamRequest,
): Promise<EventStream> => {
  const stream = new EventStream(server)
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const accept: [string, string] = ['Accept', 'text/event-stream']
  stream.socket.write(rawRequest(server, 'POST', `${path}/changes`, { key, body: text, headers: [accept, ...headers] }))
  await stream.until('the head of the response', () => stream.status > 0)
  return stream
}

/** A table that keeps its changes. */
export const makeKept = async (api: Api): Promise<TestTable> => {
  const table = new TestTable(api, 'app', freshName())
  table.created = ok(await api.post(table.path, { changes: {} }), 201)
  return table
}

/** A stream of the table with what is committed from now on, which is ready. */
export const openReady = async (
  { api, path }: TestTable,
  { key = api.key, server = api.server, ...body }: { key?: string; server?: Pick<Server, 'port'>; hash?: string } = {},
): Promise<EventStream> => {
  const stream = await openStream(server, path, { key, body: { from: 'now', ...body } })
  await stream.untilReady()
  return stream
}

/** An event as one line. */
export const shown = ({ event, data }: Block): string => {
  const { hashKey, rangeKey, data: json }: Json = JSON.parse(data!)
  return [event, hashKey, rangeKey, json && JSON.stringify(json)].filter((part) => part !== undefined).join(' ')
}

export const lastEventId = (id: string): [string, string][] => [['Last-Event-ID', id]]
