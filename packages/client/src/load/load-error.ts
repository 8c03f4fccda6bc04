import { CubbyError } from '../index.ts'
import type { ErrorCode } from '../transport/error-codes.ts'
import type { ErrorDetails } from '../transport/errors.ts'
import type { LoadResponse } from '../transport/wire.ts'

/**
 * A load ended early. If a line was refused, the error has its code and field. Otherwise it has those of the failed request, and
 * `cause` is that failure, the error of the source, or the signal's reason.
 */
export class LoadError extends CubbyError {
  /** @internal */
  static override readonly name: string = 'LoadError'
  override readonly name = 'LoadError'
  /** The line that was refused, or the first line of the request that failed. Everything before it is done. */
  readonly line: number
  /** What is known to be done. */
  readonly result: LoadResponse

  constructor(code: ErrorCode, message: string, line: number, result: LoadResponse, details: ErrorDetails) {
    super(code, message, { ...details, count: result.count })
    this.line = line
    this.result = result
  }
}
