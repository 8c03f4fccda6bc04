import type { ErrorCode } from '@cubby/client'

// The client owns the codes: what it cannot name, the server cannot answer.
export { type ErrorCode, errorCodes } from '@cubby/client'

export interface ErrorDetails {
  /** The one field at fault, as a path: `data.status`, `operations[3].hashKey`. */
  field?: string
  /** The next step to take, if there is one to suggest. */
  hint?: string
  /** For the log, never for the caller. */
  cause?: string
}

/** A failure that the caller is told about. Anything else that is thrown is our fault and answers `internal`. */
export class CubbyError extends Error {
  override readonly name = 'CubbyError'
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.code = code
    this.field = details.field
    this.hint = details.hint
  }

  /** The same error, told from one level further out: `data.status` becomes `operations[3].data.status`. */
  within(prefix: string): CubbyError {
    return new CubbyError(this.code, this.message, {
      field: this.field === undefined ? prefix : `${prefix}.${this.field}`,
      hint: this.hint,
    })
  }
}
