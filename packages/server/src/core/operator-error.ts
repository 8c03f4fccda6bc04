/** Stops a command or a server and is not a bug. The message is one line for the operator, without secrets. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}
