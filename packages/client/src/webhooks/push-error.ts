/**
 * - `header`: one is missing or malformed.
 * - `timestamp`: too old, or too far in the future: a repeated request, or a clock that is wrong.
 * - `signature`: none of them was made with one of the secrets.
 * - `body`: it was parsed already, is too large, or is not a JSON object.
 */
export type PushFault = 'header' | 'timestamp' | 'signature' | 'body'

/** The request is not a push that Cubby made with this secret. Answer with 400 or 401, and do nothing. */
export class PushError extends Error {
  /** @internal */
  static override readonly name: string = 'PushError'
  override readonly name: string = 'PushError'
  readonly fault: PushFault

  constructor(fault: PushFault, message: string) {
    super(message)
    this.fault = fault
  }
}
