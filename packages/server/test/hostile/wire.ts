// A connection for attackers and victims, light enough for ten thousand of them in one process. Like raw-connection.ts it
// sends bytes as they are. Of a response it keeps only the status.

/** The connection ended before the answer did. */
export class ConnectionEnded extends Error {}

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('\r\n0\r\n\r\n')

export class Wire {
  readonly closed: Promise<void>
  #socket!: Bun.Socket<undefined>
  #unsent: Uint8Array[] = []
  #head = Buffer.alloc(0)
  /** The rest of a body of known length; -1 for one in chunks, undefined while the head is read. */
  #bodyLeft: number | undefined
  #tail = Buffer.alloc(0)
  #status = 0
  #answers: number[] = []
  #waiting: { resolve(status: number): void; reject(error: Error): void } | undefined
  #ended = false
  #onClosed!: () => void
  #onDrained: (() => void) | undefined

  private constructor() {
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve
    })
  }

  static async open(port: number): Promise<Wire> {
    const wire = new Wire()
    wire.#socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data: (_socket, bytes) => wire.#receive(Buffer.from(bytes)),
        drain: () => wire.#flush(),
        end: () => wire.#end(),
        close: () => wire.#end(),
        error: () => wire.#end(),
      },
    })
    return wire
  }

  get ended(): boolean {
    return this.#ended
  }

  send(bytes: Uint8Array): void {
    if (this.#ended) return
    this.#unsent.push(bytes)
    if (this.#unsent.length === 1) this.#flush()
  }

  /** Resolves when all of it has gone to the system, or can no longer. */
  async sent(): Promise<void> {
    while (this.#unsent.length > 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve
      })
    }
  }

  /** The status of the next response, once it is complete. */
  answer(): Promise<number> {
    const ready = this.#answers.shift()
    if (ready !== undefined) return Promise.resolve(ready)
    if (this.#ended) return Promise.reject(new ConnectionEnded())
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  close(): void {
    this.#socket.terminate()
    this.#end()
  }

  #flush(): void {
    while (this.#unsent.length > 0 && !this.#ended) {
      const next = this.#unsent[0]!
      const taken = this.#socket.write(next)
      if (taken < 0) {
        this.#end()
        return
      }
      if (taken < next.length) {
        this.#unsent[0] = next.subarray(taken)
        return
      }
      this.#unsent.shift()
    }
    this.#onDrained?.()
  }

  #receive(bytes: Buffer): void {
    let rest = bytes
    while (rest.length > 0) {
      if (this.#bodyLeft === undefined) {
        this.#head = Buffer.concat([this.#head, rest])
        const end = this.#head.indexOf(headEnd)
        if (end < 0) return
        const head = this.#head.subarray(0, end).toString('latin1')
        rest = this.#head.subarray(end + headEnd.length)
        this.#head = Buffer.alloc(0)
        this.#status = Number(head.slice(9, 12))
        const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
        this.#bodyLeft = /\r\ntransfer-encoding: *chunked/i.test(head) ? -1 : Number(length ?? 0)
        this.#tail = Buffer.alloc(0)
      } else if (this.#bodyLeft < 0) {
        // No request is sent before the response to the last one, and JSON contains no bare line break. So text that ends
        // like the last chunk is the last chunk.
        this.#tail = Buffer.concat([this.#tail, rest]).subarray(-lastChunk.length)
        rest = rest.subarray(rest.length)
        if (this.#tail.equals(lastChunk)) this.#bodyLeft = 0
      } else {
        const taken = Math.min(this.#bodyLeft, rest.length)
        this.#bodyLeft -= taken
        rest = rest.subarray(taken)
      }
      if (this.#bodyLeft === 0) this.#complete()
    }
  }

  #complete(): void {
    this.#bodyLeft = undefined
    // 1xx such as 100 Continue is not a response.
    if (this.#status < 200) return
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) this.#answers.push(this.#status)
    else waiting.resolve(this.#status)
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#unsent = []
    this.#onDrained?.()
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.reject(new ConnectionEnded())
    this.#onClosed()
  }
}

export interface Head {
  method: string
  path: string
  key: string
  headers?: [string, string][]
}

/** The bytes of a head, with the headers given and no others that speak of a body. */
export const headBytes = ({ method, path, key, headers = [] }: Head): Buffer =>
  Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${headers
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`,
    'latin1',
  )

/** A whole request with its length. */
export const requestBytes = (head: Head, body: string | Uint8Array = ''): Buffer => {
  const bytes = Buffer.from(body as string)
  const length: [string, string][] = bytes.length === 0 ? [] : [['Content-Length', String(bytes.length)]]
  return Buffer.concat([headBytes({ ...head, headers: [...(head.headers ?? []), ...length] }), bytes])
}

/** The body in chunks of so many bytes each, the last one included. Written in place: there may be a million of them. */
export const chunkedBytes = (body: string | Uint8Array, chunkLength: number): Buffer => {
  const bytes = Buffer.from(body as string)
  const size = Buffer.from(`${chunkLength.toString(16)}\r\n`)
  const whole = Math.floor(bytes.length / chunkLength)
  const out = Buffer.alloc(whole * (size.length + chunkLength + 2))
  let to = 0
  for (let from = 0; from < whole * chunkLength; from += chunkLength) {
    out.set(size, to)
    to += size.length
    for (let i = 0; i < chunkLength; i++) out[to++] = bytes[from + i]!
    out[to++] = 13
    out[to++] = 10
  }
  const rest = bytes.subarray(whole * chunkLength)
  const last = rest.length === 0 ? '' : `${rest.length.toString(16)}\r\n${rest.toString('latin1')}\r\n`
  return Buffer.concat([out, Buffer.from(`${last}0\r\n\r\n`, 'latin1')])
}
