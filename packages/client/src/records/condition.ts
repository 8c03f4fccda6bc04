import { refusal } from '../transport/errors.ts'
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
