import type { ErrorCode } from '@cubbydb/client'
import { maskApiKeys } from './api-keys/mask-api-keys.ts'
import { type Hint, maskHint } from './hint.ts'

// The client owns the codes: the server cannot send a code that the client does not know.
export type { ErrorCode } from '@cubbydb/client'

interface ErrorDetails {
  /** The path of the wrong field: `data.status`, `operations[3].hashKey`. */
  field?: string
  /** The suggested next step, if there is one. */
  hint?: Hint
  /** The cause is for the log, never for the caller. */
  cause?: string
  /** The lines of a load that were stored before it. */
  count?: number
}

const masked = (text: string | undefined): string | undefined => (text === undefined ? undefined : maskApiKeys(text))

/**
 * An error that is reported to the caller. Any other thrown value is our bug and is answered with `internal`. The
 * texts repeat names and values of the request, which may contain an API key, so the constructor masks them.
 */
export class CubbyError extends Error {
  override readonly name = 'CubbyError'
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly hint: Hint | undefined
  readonly count: number | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(maskApiKeys(message), { cause: details.cause })
    this.code = code
    this.field = masked(details.field)
    this.count = details.count
    this.hint = details.hint === undefined ? undefined : maskHint(details.hint)
  }

  /** The same error with a prefixed field: `data.status` becomes `operations[3].data.status`. */
  within(prefix: string): CubbyError {
    return new CubbyError(this.code, this.message, {
      field: this.field === undefined ? prefix : `${prefix}.${this.field}`,
      hint: this.hint,
    })
  }

  /** The same error as the end of a load, of which so many lines are stored. */
  afterLines(count: number): CubbyError {
    const { code, field, hint, cause } = this
    const stored = count === 1 ? '1 line is stored' : `${count} lines are stored`
    const message = count === 0 ? this.message : `${stored}. The next ones are not: ${this.message}`
    const Own = this.constructor as typeof CubbyError
    return new Own(code, message, { field, hint, cause: cause as string | undefined, count })
  }
}
