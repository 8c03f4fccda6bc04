import type { CubbyError } from './errors.ts'

/**
 * The effect of sending a request twice.
 * - `read`: none.
 * - `once`: none either. The write names the version that it replaces, so it is applied at most once.
 * - `write`: the second one may overwrite what somebody else wrote in between.
 */
export type Effect = 'read' | 'once' | 'write'

const firstDelayMs = 100
const delayMsMax = 5_000
/** If the server asks to wait longer than this, the caller gets the error at once. */
const retryAfterMsMax = 30_000

/** The codes after which another token of the same user may be accepted. */
export const tokenRefusals = /^(expired|revoked)_token$/

export interface Failure {
  error: CubbyError
  /** There was no response from the service: it is not known whether it got the request. */
  unanswered: boolean
  retryAfterMs: number
}

export const mayRepeat = ({ error, unanswered, retryAfterMs }: Failure, effect: Effect, repeatWrites: boolean) => {
  if (retryAfterMs > retryAfterMsMax) return false
  if (unanswered) return effect !== 'write' || repeatWrites
  // A retry cannot help; the operator has to restore a backup.
  if (error.code === 'store_damaged') return false
  // With `unavailable` the service promises that nothing was applied or, of a load, only puts that may be repeated.
  return error.code === 'unavailable' || (effect === 'read' && (error.status >= 500 || error.status === 429))
}

/** Never shorter than the server asked for. The random part keeps many callers from retrying at the same time. */
export const repeatDelayMs = (attempt: number, retryAfterMs: number): number =>
  retryAfterMs + Math.random() * Math.min(delayMsMax, firstDelayMs * 2 ** attempt)

/** The header has seconds or a date. */
export const readRetryAfterMs = (header: string | null): number => {
  if (header === null) return 0
  const ms = Number.isNaN(+header) ? Date.parse(header) - Date.now() : +header * 1000
  return Math.max(0, ms || 0)
}
