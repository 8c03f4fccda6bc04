import type { SaveResult } from '../records/save-many.ts'
import type { ErrorCode } from './error-codes.ts'

export interface ErrorDetails {
  status?: number
  field?: string
  hint?: string
  requestId?: string
  cause?: unknown
}

/**
 * A request that was refused or got no answer. Without an answer `status` is 0 and `code` is what is known of the
 * store: `unavailable` for a read, `outcome_unknown` for a write. What the client itself refuses has the code that
 * the server would have given, and status 0 as well.
 */
export class CubbyError extends Error {
  override readonly name: string = 'CubbyError'
  /** A newer server may send a code that this list lacks: give a `switch` its `default`. */
  readonly code: ErrorCode
  readonly status: number
  /** The one field at fault, as a path: `data.status`, `operations[3].hashKey`. */
  readonly field: string | undefined
  /** The next step to take, where there is one to suggest. */
  readonly hint: string | undefined
  /** What the server's log knows the request by. */
  readonly requestId: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : details)
    this.code = code
    this.status = details.status ?? 0
    this.field = details.field
    this.hint = details.hint
    this.requestId = details.requestId
  }
}

/**
 * `save` of many records did not get through. It carries the first failure's code and details; `cause` is that
 * failure, or the signal's reason, and `result` tells what became of each chunk. `operations[3]` in `field` is the
 * fourth record of the chunk that failed.
 */
export class SaveError extends CubbyError {
  override readonly name = 'SaveError'
  readonly result: SaveResult

  constructor(code: ErrorCode, result: SaveResult, cause: unknown) {
    super(code, (cause as Error)?.message ?? String(cause), { ...(cause as ErrorDetails), cause })
    this.result = result
  }
}

/** Refused before anything was sent. */
export const refusal = (code: ErrorCode, field: string, message: string, hint?: string): CubbyError =>
  new CubbyError(code, `${field} ${message}`, { field, hint })
