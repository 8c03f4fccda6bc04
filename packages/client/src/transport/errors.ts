import type { ErrorCode } from './error-codes.ts'

export interface ErrorDetails {
  status?: number
  field?: string
  hint?: string
  requestId?: string
  count?: number
  cause?: unknown
}

/**
 * A request that was rejected or got no response. Without a response, `status` is 0 and `code` is `unavailable` for a
 * read or `outcome_unknown` for a write. A request that the client itself rejects has the code that the server would
 * have sent, and status 0 too.
 */
export class CubbyError extends Error {
  /** @internal Every class has its name as a string: minifiers rename classes, but not strings. */
  static override readonly name: string = 'CubbyError'
  override readonly name: string = 'CubbyError'
  /** A newer server may send a code that is not in this type: a `switch` needs a `default`. */
  readonly code: ErrorCode
  readonly status: number
  /** The wrong field, as a path: `data.status`, `operations[3].hashKey`. */
  readonly field: string | undefined
  /** A suggestion of the server what to do next, if it has one. */
  readonly hint: string | undefined
  /** The id of the request in the server's log. */
  readonly requestId: string | undefined
  /** Of a load that ended early: the number of lines that are known to be stored. */
  readonly count: number | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : details)
    this.code = code
    this.status = details.status ?? 0
    this.field = details.field
    this.hint = details.hint
    this.requestId = details.requestId
    this.count = details.count
  }
}

/** The client rejected the request; nothing was sent. */
export const refusal = (code: ErrorCode, field: string, message: string, hint?: string): CubbyError =>
  new CubbyError(code, `${field} ${message}`, { field, hint })

/** Only a string matches. `pattern.test` alone takes undefined for the text "undefined". */
export const matches = (pattern: RegExp, given: unknown): given is string =>
  typeof given === 'string' && pattern.test(given)

/** Undefined if the call fails with this code. */
export const absentIf = async <T>(code: ErrorCode, call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call
  } catch (error) {
    if (isCode(error, code)) return undefined
    throw error
  }
}

export const isCode = (error: unknown, code: ErrorCode): boolean => error instanceof CubbyError && error.code === code
