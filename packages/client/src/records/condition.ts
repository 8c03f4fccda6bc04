import { refusal } from '../transport/errors.ts'
import type { Effect } from '../transport/retry.ts'
import type { Condition } from './typed-table.ts'

/** A version, `'*'` for any version, or null for "must not exist". Undefined when there is no condition. */
export const parseCondition = (given: Condition, prefix = ''): number | '*' | null | undefined => {
  if ('ifMatch' in given) {
    const { ifMatch } = given
    // `ifMatch: undefined` is usually the version of a record that was not found. Ignoring it would overwrite.
    if (ifMatch !== '*' && !Number.isInteger(ifMatch)) {
      throw refusal('invalid_request', `${prefix}ifMatch`, `is ${ifMatch}; it takes a record's updatedAt.`)
    }
    if (given.ifAbsent) throw refusal('invalid_request', `${prefix}ifAbsent`, 'excludes ifMatch.')
    return ifMatch
  }
  return given.ifAbsent ? null : undefined
}

export const conditionHeaders = (condition: ReturnType<typeof parseCondition>): Record<string, string> =>
  condition === undefined
    ? {}
    : condition === null
      ? { 'if-none-match': '*' }
      : { 'if-match': condition === '*' ? condition : `"${condition}"` }

/** A write that names a version, or has an idempotency key, is applied at most once, however often it is sent. */
export const effectOf = (guarded: boolean, idempotencyKey?: string): Effect =>
  guarded || idempotencyKey !== undefined ? 'once' : 'write'
