import { CubbyError } from '../../core/errors.ts'

/** `current` is the version that was found instead; undefined when there is no record. */
export const preconditionFailed = (current: number | undefined, field?: string): CubbyError =>
  current === undefined
    ? new CubbyError('precondition_failed', 'The record does not exist; nothing was changed.', {
        field,
        hint: 'Write without the condition, or with one that holds for an absent record, to create it.',
      })
    : new CubbyError('precondition_failed', `The record is at version ${current}; nothing was changed.`, {
        field,
        hint: 'Read the record, apply your change to what it is now, and write with its new version.',
      })
