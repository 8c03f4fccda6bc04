import { keepHoursDefault, keepHoursMax } from '../limits.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../members.ts'
import { readScalar, requireScalar, type Scalar, words } from '../scalar.ts'

export const keepHoursRule = {
  type: 'integer',
  minimum: 1,
  maximum: keepHoursMax,
  [words]: { unit: 'hours', hint: `A week at most: ${keepHoursMax}. A reader that is away for longer begins again.` },
} as const satisfies Scalar

/** The member `changes` of a new table; undefined if it keeps none. */
export const parseNewChanges = (value: unknown): number | undefined => {
  if (value === undefined) return undefined
  const members = parseObject(value, 'changes')
  refuseUnknownMembers(members, ['keepHours'], 'changes.')
  return readScalar(keepHoursRule, members.keepHours, 'changes.keepHours') ?? keepHoursDefault
}

/** The member `keepHours` of a request; null: the table keeps none. */
export const parseKeepHours = (members: Members): number | null => {
  refuseUnknownMembers(members, ['keepHours'])
  return members.keepHours === null ? null : requireScalar(keepHoursRule, members.keepHours, 'keepHours')
}
