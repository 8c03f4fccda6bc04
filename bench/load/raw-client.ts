// A small HTTP client for the load of workers, which must read the answers: `fetch` would need more CPU than the server.

interface ApiResponse {
  status: number
  body: string
}

const endOfHead = '\r\n\r\n'

class RawConnection {
  socket!: Bun.Socket<RawConnection>
  #received = ''
  #unsent: Buffer | undefined
  #waiting: PromiseWithResolvers<ApiResponse> | undefined

  send(bytes: Buffer): Promise<ApiResponse> {
    this.#waiting = Promise.withResolvers<ApiResponse>()
    this.#write(bytes)
    return this.#waiting.promise
  }

  #write(bytes: Buffer): void {
    const written = Math.max(0, this.socket.write(bytes))
    this.#unsent = written < bytes.length ? bytes.subarray(written) : undefined
  }

  drain(): void {
    if (this.#unsent !== undefined) this.#write(this.#unsent)
  }

  receive(data: Buffer): void {
    // Cubby's answers about runs are ASCII, so characters are bytes.
    this.#received += data.toString('latin1')
    const end = this.#received.indexOf(endOfHead)
    if (end < 0) return
    const head = this.#received.slice(0, end)
    const body = this.#bodyOf(head, end + endOfHead.length)
    if (body === undefined) return
    this.#received = ''
    this.#waiting?.resolve({ status: Number(head.slice(9, 12)), body })
  }

  #bodyOf(head: string, start: number): string | undefined {
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length !== undefined) {
      return this.#received.length - start < Number(length) ? undefined : this.#received.slice(start)
    }
    if (!this.#received.endsWith('0\r\n\r\n')) return undefined
    let body = ''
    for (let at = start; ; ) {
      const line = this.#received.indexOf('\r\n', at)
      const size = Number.parseInt(this.#received.slice(at, line), 16)
      if (size === 0) return body
      body += this.#received.slice(line + 2, line + 2 + size)
      at = line + 2 + size + 2
    }
  }

  fail(error: Error): void {
    this.#waiting?.reject(error)
  }
}

/** POSTs JSON on kept connections, one request at a time on each. */
export class RawClient {
  readonly #port: number
  readonly #head: string
  readonly #free: RawConnection[] = []

  constructor(port: number, apiKey: string) {
    this.#port = port
    this.#head = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n`
  }

  /** The text of the answer; throws if it is not a success. */
  async post(path: string, body: string): Promise<string> {
    const connection = this.#free.pop() ?? (await this.#connect())
    const text = `POST ${path} HTTP/1.1\r\n${this.#head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    const answer = await connection.send(Buffer.from(text))
    this.#free.push(connection)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.body}`)
    return answer.body
  }

  async #connect(): Promise<RawConnection> {
    const connection = new RawConnection()
    connection.socket = await Bun.connect<RawConnection>({
      hostname: '127.0.0.1',
      port: this.#port,
      data: connection,
      socket: {
        data: (socket, data) => socket.data.receive(data),
        drain: (socket) => socket.data.drain(),
        close: (socket) => socket.data.fail(new Error('the server closed the connection')),
        error: (socket, error) => socket.data.fail(error),
      },
    })
    return connection
  }

  close(): void {
    for (const connection of this.#free.splice(0)) connection.socket.end()
  }
}
