import { describeValue } from './describe-value.ts'
import { CubbyError } from './errors.ts'

export type Members = Record<string, unknown>

/** A JSON object. Otherwise throws an error that names the value found. */
export const parseObject = (value: unknown, field?: string): Members => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members
  throw new CubbyError(
    'invalid_request',
    `${field ?? 'The body'} is ${describeValue(value)}; it takes a JSON object.`,
    {
      field,
    },
  )
}

/** An unknown member is rejected by name: a typo must not be ignored. */
export const refuseUnknownMembers = (members: Members, known: readonly string[], prefix = ''): void => {
  for (const name in members) {
    if (known.includes(name)) continue
    const field = `${prefix}${name.length > 80 ? `${name.slice(0, 80)}…` : name}`.toWellFormed()
    const meant = known.find((candidate) => candidate.toLowerCase() === name.toLowerCase().replaceAll('_', ''))
    const takes = known.length === 0 ? 'It takes none.' : `Known fields: ${known.join(', ')}.`
    throw new CubbyError('invalid_request', `${field} is not a field of this request.`, {
      field,
      hint: meant === undefined ? takes : `Write it as "${meant}".`,
    })
  }
}

/** `limit` of pages and listings: a value above `most` is not an error, because the cursor shows that there is more. */
export const parseLimit = (value: unknown, absent: number, most: number): number => {
  if (value === undefined) return absent
  // An integer of more than 308 digits is read as infinity, which is above `most` too.
  const isCount = typeof value === 'number' && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)
  if (!isCount || value < 1) {
    throw new CubbyError('invalid_request', `limit is ${describeValue(value)}; it takes an integer of at least 1.`, {
      field: 'limit',
      hint: `Leave limit out for ${absent}, or give 1 to ${most}.`,
    })
  }
  return Math.min(value, most)
}

/** true or false; absent is false. */
export const parseFlag = (value: unknown, field: string): boolean => {
  if (value === undefined || value === false) return false
  if (value === true) return true
  throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes true or false.`, { field })
}
