import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import type { Condition } from '../../store/records.ts'

const refuse = (value: unknown, field: string, takes: string, hint: string): never => {
  throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes ${takes}.`, { field, hint })
}

/** `ifUpdatedAt` of an operation in a batch: a version, or null for a record that must not exist. */
export const parseIfUpdatedAt = (value: unknown, field: string): Condition | undefined => {
  if (value === undefined) return undefined
  if (value === null) return 'absent'
  if (Number.isSafeInteger(value)) return { version: value as number }
  const hint = 'Give the updatedAt that the record must have, or null if it must not exist.'
  return refuse(value, field, 'an integer or null', hint)
}

/** Parses the condition on a record that must exist: a version. */
export const parseVersion = (value: unknown, field: string): Condition =>
  Number.isSafeInteger(value)
    ? { version: value as number }
    : refuse(value, field, 'an integer', 'Give the updatedAt of the record, as it was read.')

/** The same for a single write, where `*` means any version. */
export const parseCondition = (value: unknown): Condition | undefined =>
  value === '*' ? 'exists' : parseIfUpdatedAt(value, 'ifUpdatedAt')

/** `current` is the version that was found instead; undefined when there is no record. */
export const preconditionFailed = (current: number | undefined, field?: string): CubbyError =>
  current === undefined
    ? new CubbyError('precondition_failed', 'The record does not exist; nothing was changed.', {
        field,
        hint: 'Write without the condition, or with one that holds for an absent record, to create it.',
      })
    : new CubbyError('precondition_failed', `The record is at version ${current}; nothing was changed.`, {
        field,
        hint: `Read the record again, apply your change to it, and write with its new version, ${current}.`,
      })
