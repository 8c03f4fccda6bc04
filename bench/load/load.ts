import type { RequestTemplate, Shape } from './template.ts'

export type LoadTool = 'wrk' | 'own'

export interface LoadPlan {
  port: number
  templates: RequestTemplate[]
  shape: Shape
  connections: number
  /** How long; or how many requests in all. */
  seconds?: number
  requests?: number
  /** Records in turn, so many further with each request, instead of random ones: to fill a store. */
  stride?: number
  /** Requests a second of each connection, on a schedule; without it the next follows the answer. */
  paceHz?: number
}

export interface LoadErrors {
  connect: number
  read: number
  write: number
  /** Answers other than success. */
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
  /** What the load tool itself used. */
  cpuSeconds: number
  /** Paced only: how late the tool itself was with its requests, at the 99th percentile. */
  latenessP99Us?: number
  /** The status and body of the first answer that was no success. */
  firstFault?: string
}

export class LoadFailed extends Error {}

export const errorCount = (errors: LoadErrors): number =>
  errors.connect + errors.read + errors.write + errors.status + errors.timeout

/** No error is tolerated: a figure with errors in it is no figure. */
export const requireNoErrors = (result: LoadResult, what: string): LoadResult => {
  if (errorCount(result.errors) > 0) {
    throw new LoadFailed(
      `${what}: errors ${JSON.stringify(result.errors)}${result.firstFault === undefined ? '' : `; first: ${result.firstFault}`}`,
    )
  }
  if (result.requests === 0) throw new LoadFailed(`${what}: no request was answered`)
  return result
}
