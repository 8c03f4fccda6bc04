import type { RequestTemplate, Shape } from './template.ts'

export type LoadTool = 'wrk' | 'own'

export interface LoadPlan {
  port: number
  templates: RequestTemplate[]
  shape: Shape
  connections: number
  /** The duration, or the number of requests. */
  seconds?: number
  requests?: number
  /** Use records in order instead of random ones, this many per request. It is used to fill a store. */
  stride?: number
  /** Requests per second of each connection, on a schedule. Without it, the next request follows the response. */
  paceHz?: number
}

export interface LoadErrors {
  connect: number
  read: number
  write: number
  /** Responses other than success. */
  status: number
  timeout: number
}

export interface LoadResult {
  requests: number
  seconds: number
  p50Us: number
  p99Us: number
  maxUs: number
  errors: LoadErrors
  /** The CPU that the load tool itself used. */
  cpuSeconds: number
  /** Paced only: how late the tool itself was with its requests, at the 99th percentile. */
  latenessP99Us?: number
  /** The status and body of the first response that was not a success. */
  firstFault?: string
}

export class LoadFailed extends Error {}

export const errorCount = (errors: LoadErrors): number =>
  errors.connect + errors.read + errors.write + errors.status + errors.timeout

/** Throws if there was any error: a figure that includes errors is not valid. */
export const requireNoErrors = (result: LoadResult, what: string): LoadResult => {
  if (errorCount(result.errors) > 0) {
    throw new LoadFailed(
      `${what}: errors ${JSON.stringify(result.errors)}${result.firstFault === undefined ? '' : `; first: ${result.firstFault}`}`,
    )
  }
  if (result.requests === 0) throw new LoadFailed(`${what}: no request was answered`)
  return result
}
