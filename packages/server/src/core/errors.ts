import type { ErrorCode } from '@cubby/client'
import { maskApiKeys } from './api-keys/mask-api-keys.ts'
import { type Hint, maskHint } from './hint.ts'

export type { ErrorCode } from '@cubby/client'

export interface ErrorDetails {
  /** The one field at fault, as a path: `data.status`, `operations[3].hashKey`. */
  field?: string
  /** The next step to take, if there is one to suggest. */
  hint?: Hint
  /** For the log, never for the caller. */
  cause?: string
}

const masked = (text: string | undefined): string | undefined => (text === undefined ? undefined : maskApiKeys(text))

/**
 * A failure that the caller is told about. Anything else that is thrown is our fault and answers `internal`. Its texts
 * repeat names and values of the request, and an API key may be among them: here, once for all, they are masked.
 */
export class CubbyError extends Error {
  override readonly name = 'CubbyError'
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly hint: Hint | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(maskApiKeys(message), { cause: details.cause })
    this.code = code
    this.field = masked(details.field)
    this.hint = details.hint === undefined ? undefined : maskHint(details.hint)
  }

  /** The same error, told from one level further out: `data.status` becomes `operations[3].data.status`. */
  within(prefix: string): CubbyError {
    return new CubbyError(this.code, this.message, {
      field: this.field === undefined ? prefix : `${prefix}.${this.field}`,
      hint: this.hint,
    })
  }
}
