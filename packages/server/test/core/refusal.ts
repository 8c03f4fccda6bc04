import { CubbyError } from '../../src/core/errors.ts'

/** The error that `run` is refused with. Anything but a CubbyError is a fault of ours and fails the test. */
export const refusal = (run: () => unknown): CubbyError => {
  try {
    run()
  } catch (error) {
    if (error instanceof CubbyError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

/** Code and field: the two that a program acts on. */
export const refused = (run: () => unknown): [code: string, field: string | undefined] => {
  const { code, field } = refusal(run)
  return [code, field]
}
