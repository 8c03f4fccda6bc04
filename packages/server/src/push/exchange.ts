import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { type LimitedPart, noResponse, type PushResponse, ResponseReader } from './response-reader.ts'
import type { Target } from './target.ts'

interface Request {
  method: 'GET' | 'POST'
  target: Target
  /** Checked. The connection goes to one of them. */
  addresses: readonly string[]
  headers: Record<string, string>
  /** Absent for a GET. */
  body?: Uint8Array
  signal: AbortSignal
  /** It is called if a part of the answer was too long; then nothing more was read. */
  onCut?: (part: LimitedPart) => void
  /** Certificates of authorities, for tests; otherwise those of the machine. */
  ca?: string
}

/**
 * Sends a request on a connection of its own, and reads the answer. Whatever happens, the connection is closed at the end. Rejects
 * if there is no answer, and when the signal aborts. Environment variables for proxies have no effect on `node:net`.
 */
export const exchange = ({
  method,
  target,
  addresses,
  headers,
  body,
  signal,
  onCut,
  ca,
}: Request): Promise<PushResponse> =>
  new Promise((resolve, reject) => {
    const head = headOf(method, target, headers, body)
    const reader = new ResponseReader()
    let socket: Socket | undefined
    let isSettled = false
    const settle = (report: () => void): void => {
      if (isSettled) return
      isSettled = true
      signal.removeEventListener('abort', stop)
      if (reader.cut !== undefined) onCut?.(reader.cut)
      report()
      socket?.destroy()
    }
    const stop = (): void => settle(() => reject(new Error('the signal aborted the push')))
    // The status decides once it is known.
    const fail = (error: unknown): void => {
      const response = reader.broken()
      settle(() => (response === undefined ? reject(error) : resolve(response)))
    }
    const take = (read: () => PushResponse | undefined): void => {
      if (isSettled) return
      try {
        const response = read()
        if (response !== undefined) settle(() => resolve(response))
      } catch (error) {
        fail(error)
      }
    }
    signal.addEventListener('abort', stop)
    if (signal.aborted) return stop()
    socket = connect(target, addresses, ca, (connected) => {
      // Together: apart they would be two packets.
      connected.cork()
      connected.write(head)
      if (body !== undefined) connected.write(body)
      connected.uncork()
    })
    socket.on('data', (bytes: Buffer) => take(() => reader.read(bytes)))
    socket.on('end', () => take(() => reader.end()))
    // Stays until the end: an error may follow the answer.
    socket.on('error', fail)
    socket.on('close', () => fail(noResponse()))
  })

/** `onConnected` is called when the request may be sent: with TLS, when the certificate has been checked. */
const connect = (
  { url, host, isLiteral }: Target,
  addresses: readonly string[],
  ca: string | undefined,
  onConnected: (socket: Socket) => void,
): Socket => {
  const isSecure = url.protocol === 'https:'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  // The lookup is not called for a literal, which is in `addresses` itself. Otherwise nothing resolves the name a second time.
  const to = { host, port, lookup: lookupIn(addresses) }
  if (!isSecure) {
    const socket = connectPlain(to, () => onConnected(socket))
    return socket
  }
  const socket = connectSecure(
    {
      ...to,
      // A certificate has the name without the dot at its end. An address is compared with those in the certificate.
      servername: isLiteral ? '' : host.replace(/\.$/, ''),
      // Certificates are checked as by default, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(ca === undefined ? {} : { ca }),
    },
    () => onConnected(socket),
  )
  return socket
}

const headOf = (
  method: string,
  { url }: Target,
  headers: Record<string, string>,
  body: Uint8Array | undefined,
): string => {
  const lines = [
    `${method} ${url.pathname}${url.search} HTTP/1.1`,
    `host: ${url.host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`content-length: ${body.length}`]),
    'connection: close',
  ]
  // Names and values were checked when they were stored; a line break in one of them would be a header of the caller's.
  if (lines.some((line) => /[^\x20-\x7e]/.test(line)))
    throw new Error('a header of a push has other characters than ASCII')
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Works like `lookup` of `node:dns`, but knows these addresses only, whatever the name is. */
const lookupIn = (addresses: readonly string[]): LookupFunction => {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, done) => {
    if (options.all) done(null, found)
    else done(null, found[0]!.address, found[0]!.family)
  }
}
