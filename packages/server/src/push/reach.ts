import type { Allow } from './allow.ts'
import { exchange } from './exchange.ts'
import { type Resolve, resolveName } from './resolve.ts'
import { BadResponse, type LimitedPart, type PushResponse } from './response-reader.ts'
import { checkedAddresses, parseTarget } from './target.ts'

export interface ReachOptions {
  allow: Allow
  /** The caller owns the deadline. An abort closes the connection. */
  signal: AbortSignal
  /** It is called if a part of the answer was too long; then nothing more was read. */
  onCut?: (part: LimitedPart) => void
  /** Tests set another resolver. */
  resolve?: Resolve
  /** Tests set certificates of authorities. */
  ca?: string
}

interface Sent {
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: Uint8Array
}

/** Sends a request to a target that is allowed. Throws TargetRefused for another one, and follows no redirect. */
export const reach = async (url: string, sent: Sent, options: ReachOptions): Promise<PushResponse> => {
  const { allow, signal, onCut, resolve = resolveName, ca } = options
  const target = parseTarget(url, allow)
  // A name server may take longer than the deadline, and a lookup cannot be cancelled.
  const addresses = await unlessAborted(checkedAddresses(target, allow, resolve), signal)
  if (addresses.length === 0) throw new BadResponse('The name of the host does not resolve.')
  return exchange({ ...sent, target, addresses, signal, onCut, ca })
}

const unlessAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error('the signal aborted the push'))
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })

/** Shows errors of the runtime by their codes only, because messages of TLS repeat what the target has sent. */
export const connectionMessage = (error: unknown): string => {
  if (error instanceof BadResponse) return error.message
  const code = String((error as { code?: unknown }).code ?? '')
  const reason = reasons.find(([pattern]) => pattern.test(code))?.[1] ?? 'The connection to the target failed'
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `${reason} (${code}).` : `${reason}.`
}

const reasons: readonly [RegExp, string][] = [
  [/^ECONNREFUSED$/, 'The target refused the connection'],
  [/^ECONNRESET$/, 'The target closed the connection without an answer'],
  [/^DNS_|ENOTFOUND|EAI_/, 'The name of the host does not resolve'],
  [/CERT|SIGNATURE|ISSUER|SSL|TLS/, 'The certificate of the target is not valid for its name, or TLS failed'],
]
