import type { CubbyError } from './errors.ts'

/**
 * What sending a request twice may do.
 * - `read`: nothing.
 * - `once`: a write that has its effect once however often it is sent, since it names the version it replaces.
 * - `write`: undo what someone else wrote in between.
 */
export type Effect = 'read' | 'once' | 'write'

const firstDelayMs = 100
const delayMsMax = 5_000
/** A server that asks for more patience than this gets its error handed to the caller. */
const retryAfterMsMax = 30_000

export interface Failure {
  error: CubbyError
  /** The service itself said nothing: whether it saw the request is not known. */
  unanswered: boolean
  retryAfterMs: number
}

export const mayRepeat = ({ error, unanswered, retryAfterMs }: Failure, effect: Effect, repeatWrites: boolean) => {
  if (retryAfterMs > retryAfterMsMax) return false
  if (unanswered) return effect !== 'write' || repeatWrites
  // Only a restored backup helps.
  if (error.code === 'store_damaged') return false
  // `unavailable` is the service's promise that nothing was applied.
  return error.code === 'unavailable' || (effect === 'read' && (error.status >= 500 || error.status === 429))
}

/** Never sooner than the server asked; the random part keeps many callers from coming back at once. */
export const repeatDelayMs = (attempt: number, retryAfterMs: number): number =>
  retryAfterMs + Math.random() * Math.min(delayMsMax, firstDelayMs * 2 ** attempt)

/** The header holds seconds or a date. */
export const readRetryAfterMs = (header: string | null): number => {
  if (header === null) return 0
  const ms = Number.isNaN(+header) ? Date.parse(header) - Date.now() : +header * 1000
  return Math.max(0, ms || 0)
}
