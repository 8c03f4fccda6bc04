import { type IncomingMessage, request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pushAnswerBytesMax } from '../core/limits.ts'
import type { Target } from './target.ts'

/** The status line and all headers of an answer. */
const answerHeadBytesMax = 16 * 1024

export interface Request {
  target: Target
  /** Checked. The connection goes to one of them. */
  addresses: readonly string[]
  headers: Record<string, string>
  body: Uint8Array
  signal: AbortSignal
  /** Certificates of authorities, for tests; otherwise those of the machine. */
  ca?: string
}

export interface Answer {
  status: number
  retryAfter: string | undefined
  /** Undefined if it was not needed, too long, or not complete. */
  body: Uint8Array | undefined
}

/**
 * Sends a POST on a connection of its own, and reads the answer. Whatever happens, the connection is closed at the end. Rejects
 * if there is no answer, and when the signal aborts. Environment variables for proxies have no effect on `node:https`.
 */
export const exchange = ({ target, addresses, headers, body, signal, ca }: Request): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { url, host, isLiteral } = target
    const request = (url.protocol === 'https:' ? requestSecure : requestPlain)({
      host,
      port: url.port === '' ? undefined : Number(url.port),
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, 'content-length': body.length },
      // No agent: a connection that is used again would go to an address that was checked earlier.
      agent: false,
      // Not called for a literal, which is in `addresses` itself. Otherwise nothing resolves the name a second time.
      lookup: lookupIn(addresses),
      // A certificate has the name without the dot at its end. An address is compared with those in the certificate.
      servername: isLiteral ? '' : host.replace(/\.$/, ''),
      // As by default, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      rejectUnauthorized: true,
      maxHeaderSize: answerHeadBytesMax,
      ...(ca === undefined ? {} : { ca }),
    })
    let head: Pick<Answer, 'status' | 'retryAfter'> | undefined
    // Only the first call has an effect.
    const settle = (report: () => void): void => {
      signal.removeEventListener('abort', stop)
      report()
      request.destroy()
    }
    const stop = (): void => settle(() => reject(new Error('the signal aborted the push')))
    const succeed = (bytes: Uint8Array | undefined): void => settle(() => resolve({ ...head!, body: bytes }))
    // Once the status is known it decides: a body that breaks off is only not kept.
    const fail = (error: Error): void => (head === undefined ? settle(() => reject(error)) : succeed(undefined))
    // Stays until the end: an error may follow the answer.
    request.on('error', fail)
    request.on('close', () => fail(new Error('the connection closed without an answer')))
    // 101 is no answer to a push. Without a listener nobody would close its socket.
    request.on('upgrade', (_answer, socket) => {
      socket.destroy()
      fail(new Error('the target answered 101'))
    })
    request.on('response', (answer) => {
      head = { status: answer.statusCode!, retryAfter: answer.headers['retry-after'] }
      if (isSuccess(head.status)) readBody(answer, succeed)
      else succeed(undefined)
    })
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    else request.end(body)
  })

export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** As `lookup` of `node:dns`, but it knows these addresses only, whatever the name is. */
const lookupIn = (addresses: readonly string[]): LookupFunction => {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_name, options, done) => {
    if (options.all) done(null, found)
    else done(null, found[0]!.address, found[0]!.family)
  }
}

/** `done` gets undefined for a body that is too long or that breaks off. It may be called again, without an effect. */
const readBody = (answer: IncomingMessage, done: (body: Uint8Array | undefined) => void): void => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  if (Number(answer.headers['content-length'] ?? 0) > pushAnswerBytesMax) done(undefined)
  answer.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes > pushAnswerBytesMax) done(undefined)
    else chunks.push(chunk)
  })
  answer.on('end', () => done(answer.complete ? Buffer.concat(chunks) : undefined))
  answer.on('error', () => done(undefined))
  answer.on('close', () => done(undefined))
}
