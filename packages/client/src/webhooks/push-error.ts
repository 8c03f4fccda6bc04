/**
 * - `header`: a header is missing or malformed.
 * - `timestamp`: it is too old or too far in the future. The request is a replay, or a clock is wrong.
 * - `signature`: no signature was made with one of the secrets.
 * - `body`: the body was parsed already, is too large, or is not a JSON object.
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
