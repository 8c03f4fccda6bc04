import { CubbyError } from '../../src/core/errors.ts'

/** The error of a rule: its hint is text, since a rule knows of no operation to suggest. */
type Refusal = CubbyError & { readonly hint: string | undefined }

/** The error that `run` is refused with. Anything else is a fault of ours and fails the test. */
export const refusal = (run: () => unknown): Refusal => {
  try {
    run()
  } catch (error) {
    if (error instanceof CubbyError && typeof error.hint !== 'object') return error as Refusal
    throw error
  }
  throw new Error('nothing was refused')
}

/** Code and field: the two that a program acts on. */
export const refused = (run: () => unknown): [code: string, field: string | undefined] => {
  const { code, field } = refusal(run)
  return [code, field]
}
