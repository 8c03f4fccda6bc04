import { createHash, type Hash } from 'node:crypto'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { type Account, checkSignature } from './s3-signature-check.ts'

// A small S3 that checks every signature and digest, and fails on demand. It speaks HTTP on bare sockets, so that it sees
// requests as they were sent and can end a connection anywhere.

export interface SeenRequest {
  method: string
  target: string
  headers: [string, string][]
  bodyBytes: number
  /** 0 if the server did not answer. */
  status: number
}

export interface Fault {
  method: string
  /** The fault is only for objects whose path ends with this. */
  target?: string
  /** The fault is used up after so many requests; 1 by default. */
  times?: number
  /** Answers with this, once the body has arrived. */
  answer?: { status: number; code?: string; headers?: Record<string, string>; body?: string }
  /** The connection is reset after so many bytes of the request's body. */
  resetAfterBodyBytes?: number
  /** The server waits so long after each piece of the request's body. */
  slowMs?: number
  /** Only so many bytes of the object are sent; then the connection is `reset` or ended. */
  sendBytes?: number
  reset?: boolean
  /** Headers of a good answer that are replaced; an empty one is left out. */
  headers?: Record<string, string>
  /** Nothing is answered. */
  silent?: boolean
}

interface Stored {
  bytes: Buffer | undefined
  size: number
  sha256: string
}

export interface ServerOptions {
  bucket?: string
  tls?: { key: string; cert: string }
  /** The server knows `If-None-Match: *`, refuses it, or ignores it. */
  conditions?: 'known' | 'refused' | 'ignored'
  /** Objects above this size are not kept; zeros are read instead. */
  keepBytesMax?: number
}

export class S3TestServer {
  readonly account: Account = { region: 'eu-test-1', accessKeyId: 'AKTEST', secretAccessKey: 'se/cr+et=' }
  readonly objects = new Map<string, Stored>()
  readonly seen: SeenRequest[] = []
  readonly sockets = new Set<Socket>()
  /** The first that fits a request is used. */
  faults: Fault[] = []
  endpoint = ''
  /** Objects that are being sent: their clients have not taken all of them, and are still there. */
  sending = 0
  /** The clock of the server is ahead by this. */
  skewMs = 0
  readonly #options: ServerOptions
  readonly #server: Server

  private constructor(options: ServerOptions) {
    this.#options = options
    const onSocket = (socket: Socket): void => this.#serve(socket)
    this.#server = options.tls === undefined ? createServer(onSocket) : createTlsServer(options.tls, onSocket)
  }

  static async start(options: ServerOptions = {}): Promise<S3TestServer> {
    const server = new S3TestServer(options)
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    const { port } = server.#server.address() as AddressInfo
    server.endpoint = options.tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
    return server
  }

  get bucket(): string {
    return this.#options.bucket ?? 'cubby-files'
  }

  /** The variables with which the place finds this server. */
  get env(): Record<string, string> {
    return {
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_REGION: this.account.region,
      AWS_ACCESS_KEY_ID: this.account.accessKeyId,
      AWS_SECRET_ACCESS_KEY: this.account.secretAccessKey,
    }
  }

  /** Stores an object without a request. */
  store(key: string, bytes: Buffer): void {
    this.objects.set(key, { bytes, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('close', () => this.sockets.delete(socket))
    socket.on('error', () => {})
    let head = Buffer.alloc(0)
    let request: Arriving | undefined
    socket.on('data', (data: Buffer) => {
      let rest = data
      if (request === undefined) {
        head = Buffer.concat([head, data])
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        request = parseHead(head.subarray(0, end).toString('latin1'))
        rest = head.subarray(end + 4)
        head = Buffer.alloc(0)
        request.fault = this.#takeFault(request)
        if (/100-continue/i.test(header(request, 'expect') ?? '')) socket.write('HTTP/1.1 100 Continue\r\n\r\n')
      }
      request.take(rest, this.#options.keepBytesMax)
      if (request.fault?.slowMs !== undefined) {
        socket.pause()
        setTimeout(() => socket.resume(), request.fault.slowMs)
      }
      if (request.bodyBytes > (request.fault?.resetAfterBodyBytes ?? Number.POSITIVE_INFINITY)) {
        this.seen.push({ ...request.seen, status: 0 })
        socket.resetAndDestroy()
      } else if (request.bodyBytes >= request.length || Number.isNaN(request.length)) {
        const whole = request
        request = undefined
        void this.#answer(socket, whole)
      }
    })
  }

  #takeFault({ method, target }: Arriving): Fault | undefined {
    const fault = this.faults.find((fault) => fault.method === method && target.endsWith(fault.target ?? ''))
    if (fault === undefined) return undefined
    fault.times = (fault.times ?? 1) - 1
    if (fault.times === 0) this.faults = this.faults.filter((other) => other !== fault)
    return fault
  }

  async #answer(socket: Socket, request: Arriving): Promise<void> {
    const { fault } = request
    if (fault?.silent) return void this.seen.push({ ...request.seen, status: 0 })
    const decision: Decision = fault?.answer ?? this.#decide(request)
    const { status, code, headers = {}, body, object, range } = decision
    this.seen.push({ ...request.seen, status })
    const xml =
      code === undefined ? '' : `<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>…</Message></Error>`
    const text = Buffer.from(body ?? xml)
    const [start, end] = range ?? [0, object?.size ?? 0]
    const length = object === undefined ? text.length : end - start
    const all: Record<string, string> = { 'Content-Length': String(length), ...headers, ...fault?.headers }
    const lines = Object.entries(all)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`)
    if (request.method === 'HEAD') return
    if (status === 411) return void socket.end(text)
    if (object === undefined) return void socket.write(text)
    const cut = Math.min(length, fault?.sendBytes ?? length)
    this.sending += 1
    for (let at = 0; at < cut && !socket.destroyed; ) {
      const bytes = Math.min(65_536, cut - at)
      const chunk = object.bytes?.subarray(start + at, start + at + bytes) ?? Buffer.alloc(bytes)
      at += bytes
      if (!socket.write(chunk)) await drained(socket)
    }
    this.sending -= 1
    if (cut === length) return
    // The bytes written should arrive before the end of the connection.
    await Bun.sleep(50)
    if (fault?.reset) socket.resetAndDestroy()
    else socket.end()
  }

  #decide(request: Arriving): Decision {
    const { method, target, headers, bodySha256, bodyBytes } = request
    if (!Number.isFinite(request.length)) return { status: 411, code: 'MissingContentLength' }
    const raw = { method, target, headers, bodySha256 }
    const refused = checkSignature(raw, this.account, Date.now() + this.skewMs)
    if (refused !== undefined) return { status: statusOf[refused] ?? 403, code: refused }
    const [, bucket, key = ''] = /^\/([^/]+)\/(.+)$/.exec(target) ?? []
    if (bucket !== this.bucket) return { status: 404, code: 'NoSuchBucket' }
    const object = this.objects.get(key)
    switch (method) {
      case 'PUT': {
        const { conditions = 'known' } = this.#options
        if (header(request, 'if-none-match') === '*') {
          if (conditions === 'refused') return { status: 501, code: 'NotImplemented' }
          if (conditions === 'known' && object !== undefined) return { status: 412, code: 'PreconditionFailed' }
        }
        this.objects.set(key, { bytes: request.kept, size: bodyBytes, sha256: bodySha256 })
        return { status: 200, headers: { ETag: '"etag"' } }
      }
      case 'DELETE':
        this.objects.delete(key)
        return { status: 204 }
      case 'HEAD':
      case 'GET': {
        if (object === undefined) return { status: 404, code: 'NoSuchKey' }
        const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(header(request, 'range') ?? '') ?? []
        if (last === undefined) return { status: 200, object }
        if (Number(first) >= object.size) return { status: 416, code: 'InvalidRange' }
        const end = Math.min(Number(last) + 1, object.size)
        const contentRange = `bytes ${first}-${end - 1}/${object.size}`
        return { status: 206, headers: { 'Content-Range': contentRange }, object, range: [Number(first), end] }
      }
      default:
        return { status: 405, code: 'MethodNotAllowed' }
    }
  }
}

const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      socket.off('drain', go).off('close', go)
      resolve()
    }
    socket.on('drain', go).on('close', go)
  })

interface Decision {
  status: number
  code?: string
  headers?: Record<string, string>
  body?: string
  object?: Stored
  range?: [number, number]
}

const statusOf: Record<string, number> = {
  InvalidArgument: 400,
  AuthorizationHeaderMalformed: 400,
  XAmzContentSHA256Mismatch: 400,
}

/** A request whose body may not have arrived as a whole. */
class Arriving {
  readonly method: string
  readonly target: string
  readonly headers: [string, string][]
  /** NaN if it is not known: S3 takes no such body. */
  readonly length: number
  fault: Fault | undefined
  bodyBytes = 0
  readonly #hash: Hash = createHash('sha256')
  #chunks: Buffer[] | undefined = []
  #digest: string | undefined

  constructor(method: string, target: string, headers: [string, string][]) {
    this.method = method
    this.target = target
    this.headers = headers
    const isChunked = header(this, 'transfer-encoding') !== undefined
    this.length = isChunked ? Number.NaN : Number(header(this, 'content-length') ?? 0)
  }

  get seen(): Omit<SeenRequest, 'status'> {
    const { method, target, headers, bodyBytes } = this
    return { method, target, headers, bodyBytes }
  }

  get bodySha256(): string {
    this.#digest ??= this.#hash.digest('hex')
    return this.#digest
  }

  get kept(): Buffer | undefined {
    return this.#chunks === undefined ? undefined : Buffer.concat(this.#chunks)
  }

  take(data: Buffer, keepBytesMax = Number.POSITIVE_INFINITY): void {
    this.bodyBytes += data.length
    this.#hash.update(data)
    if (this.bodyBytes > keepBytesMax) this.#chunks = undefined
    this.#chunks?.push(Buffer.from(data))
  }
}

const header = ({ headers }: Pick<SeenRequest, 'headers'>, name: string): string | undefined =>
  headers.find(([sent]) => sent.toLowerCase() === name)?.[1]

const parseHead = (text: string): Arriving => {
  const [first = '', ...lines] = text.split('\r\n')
  const [method = '', target = ''] = first.split(' ')
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(':')
    return [line.slice(0, at), line.slice(at + 1).trim()]
  })
  return new Arriving(method, target, headers)
}
