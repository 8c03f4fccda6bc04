import { refusal } from '../transport/errors.ts'
import type { Condition } from './typed-table.ts'

/** The version, `'*'`, null for absent; undefined when there is no condition. */
export const parseCondition = (given: Condition, prefix = ''): number | '*' | null | undefined => {
  if ('ifMatch' in given) {
    const { ifMatch } = given
    // Present but undefined is the version of a record that was not found: without a check it would overwrite.
    if (ifMatch !== '*' && !Number.isInteger(ifMatch)) {
      throw refusal('invalid_request', `${prefix}ifMatch`, `is ${ifMatch}; it takes a record's updatedAt.`)
    }
    if (given.ifAbsent) throw refusal('invalid_request', `${prefix}ifAbsent`, 'excludes ifMatch.')
    return ifMatch
  }
  return given.ifAbsent ? null : undefined
}
