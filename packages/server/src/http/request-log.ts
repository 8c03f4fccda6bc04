import type { Log } from '../core/log.ts'
import type { Organizations } from '../store/organizations.ts'
import type { ObservedResponse, Observer } from './observe.ts'

interface RequestLogOptions {
  log: Log
  organizations: Pick<Organizations, 'findById'>
  /** `--log requests`: a line for every request. */
  logRequests: boolean
  /** `--log-slow`: a line for requests that took so long; undefined: none. */
  logSlowMs: number | undefined
}

/** Names of organizations that are remembered. The name of an id never changes. */
const namesMax = 10_000

/** Two digits after the point. */
const rounded = (ms: number): number => Math.round(ms * 100) / 100

/**
 * The trace id of a `traceparent` header, as W3C Trace Context defines it; undefined if the header is malformed. A version
 * that we do not know may have more after the flags.
 */
export const traceIdOf = (traceparent: string | null): string | undefined => {
  const parts = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent?.trim() ?? '')
  if (parts === null) return undefined
  const [, version, traceId, parentId, more] = parts
  const isZero = (text: string): boolean => /^0+$/.test(text)
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  return isZero(traceId!) || isZero(parentId!) ? undefined : traceId
}

/** `organization` has its place, and is filled in when its name is known. */
const fieldsOf = (observed: ObservedResponse): Record<string, unknown> => {
  const { sentId, method, request, path, operation, exchange, status, code, bytesIn, bytesOut, ms } = observed
  const waitedMs = exchange?.waitedMs ?? 0
  return {
    ...{ requestId: sentId, method, path, operation, organization: undefined, keyId: exchange?.identity?.keyId },
    ...{ status, code, bytesIn, bytesOut, ms: rounded(ms) },
    ...(waitedMs > 0 && { waitedMs: rounded(waitedMs) }),
    trace_id: traceIdOf(request.headers.get('traceparent')),
  }
}

/** Logs requests, or only those that took long. Undefined: no request is logged. */
export const logResponses = (options: RequestLogOptions): Observer | undefined => {
  const { log, organizations, logRequests, logSlowMs = Number.POSITIVE_INFINITY } = options
  if (!logRequests && logSlowMs === Number.POSITIVE_INFINITY) return undefined
  const names = new Map<number, string>()
  /** The id if the store cannot tell the name now. */
  const nameOf = async (orgId: number): Promise<string | number> => {
    try {
      const found = await organizations.findById(orgId)
      if (found === undefined) return orgId
      if (names.size >= namesMax) names.clear()
      names.set(orgId, found.name)
      return found.name
    } catch {
      return orgId
    }
  }
  return (observed) => {
    const isSlow = observed.workMs >= logSlowMs
    if (!logRequests && !isSlow) return
    const fields = fieldsOf(observed)
    const print = (organization: string | number | undefined): void =>
      isSlow
        ? log('warn', 'slow request', { ...fields, organization })
        : log('info', 'request', { ...fields, organization })
    const orgId = observed.exchange?.identity?.orgId
    const known = orgId === undefined ? undefined : names.get(orgId)
    if (orgId === undefined || known !== undefined) print(known)
    else void nameOf(orgId).then(print)
  }
}
