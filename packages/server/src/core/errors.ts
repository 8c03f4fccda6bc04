/** Every code a client can meet. `docs/errors.md` has an entry for each; a test keeps the two equal. */
export const errorCodes = [
  'invalid_json',
  'invalid_request',
  'invalid_name',
  'reserved_name',
  'invalid_key',
  'invalid_index',
  'invalid_index_value',
  'index_not_declared',
  'invalid_range',
  'invalid_cursor',
  'invalid_ttl',
  'batch_too_large',
  'batch_duplicate_keys',
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'read_only_key',
  'key_scope',
  'secret_key_in_browser',
  'route_not_found',
  'table_not_found',
  'record_not_found',
  'key_not_found',
  'method_not_allowed',
  'table_exists',
  'precondition_failed',
  'record_too_large',
  'body_too_large',
  'unsupported_media_type',
  'internal',
  'outcome_unknown',
  'unavailable',
  'storage_full',
] as const

export type ErrorCode = (typeof errorCodes)[number]

export interface ErrorDetails {
  /** The one field at fault, as a path: `data.status`, `operations[3].hashKey`. */
  field?: string
  /** The next step to take, if there is one to suggest. */
  hint?: string
}

/** A failure that the caller is told about. Anything else that is thrown is our fault and answers `internal`. */
export class CubbyError extends Error {
  override readonly name = 'CubbyError'
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message)
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
