import type { Log } from '../core/log.ts'
import type { Organizations } from '../store/organizations.ts'
import type { Answered, Observer } from './observe.ts'
import { traceIdOf } from './trace-parent.ts'

export interface RequestLogOptions {
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

/** `organization` has its place, and is filled in when its name is known. */
const fieldsOf = (answered: Answered): Record<string, unknown> => {
  const { sentId, method, request, path, operation, exchange, status, code, bytesIn, bytesOut, ms } = answered
  const waitedMs = exchange?.waitedMs ?? 0
  return {
    ...{ requestId: sentId, method, path, operation, organization: undefined, keyId: exchange?.identity?.keyId },
    ...{ status, code, bytesIn, bytesOut, ms: rounded(ms) },
    ...(waitedMs > 0 && { waitedMs: rounded(waitedMs) }),
    trace_id: traceIdOf(request.headers.get('traceparent')),
  }
}

/** Logs requests, or only those that took long. Undefined: no request is logged. */
export const logAnswered = (options: RequestLogOptions): Observer | undefined => {
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
  return (answered) => {
    const isSlow = answered.workMs >= logSlowMs
    if (!logRequests && !isSlow) return
    const fields = fieldsOf(answered)
    const print = (organization: string | number | undefined): void =>
      isSlow
        ? log('warn', 'slow request', { ...fields, organization })
        : log('info', 'request', { ...fields, organization })
    const orgId = answered.exchange?.identity?.orgId
    const known = orgId === undefined ? undefined : names.get(orgId)
    if (orgId === undefined || known !== undefined) print(known)
    else void nameOf(orgId).then(print)
  }
}
