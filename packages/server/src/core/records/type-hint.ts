import { coerceIndexValue, type IndexScalar } from '../tables/index-value.ts'
import { indexBounds, type RangeCondition } from './range.ts'
import type { ByteScan } from './scan.ts'

// A range matches only values of its operand's type, so that a date without a time, which is a string, finds no date-time.

/**
 * The scan whose first record tells whether values of another type are stored under the hash: for a string operand the
 * lowest value, since strings come last in the index; for others the highest.
 */
export const scanForOtherType = (scan: ByteScan, { operand }: RangeCondition): ByteScan => ({
  ...scan,
  ...indexBounds(undefined),
  ...{ lowId: 0, highId: 0, descending: typeof operand !== 'string' },
})

const shownCharactersMax = 40

const isShort = (text: string): boolean => text.length <= shownCharactersMax

const asInstant = (text: string): string | undefined => {
  const ms = isShort(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace('.000Z', 'Z')
}

/** Says how a string operand is written as a number or a date-time, which is one. */
const numberHint = (operand: IndexScalar): string => {
  if (typeof operand !== 'string') return 'Give a number or a date-time.'
  if (/^-?[0-9]{1,15}(\.[0-9]{1,6})?$/.test(operand)) return `Write it as ${operand}.`
  const instant = asInstant(operand)
  return instant === undefined ? 'Give a number or a date-time.' : `Write it as "${instant}".`
}

const shownOperand = (operand: IndexScalar): string => {
  if (typeof operand === 'string') return isShort(operand) ? `the string ${JSON.stringify(operand)}` : 'a string'
  return typeof operand === 'number' ? 'a number or date-time' : 'a boolean'
}

/**
 * The hint for a range that matched nothing, if its operand is of another type than `stored`, which is the value that some
 * record under that hash has in `field`. Undefined if it is of the same type.
 */
export const otherTypeHint = (
  { operator, operand }: RangeCondition,
  field: string,
  stored: IndexScalar,
): string | undefined => {
  const value = coerceIndexValue(stored)
  if (typeof value === typeof operand) return undefined
  const [type, advice] =
    typeof value === 'boolean'
      ? ['booleans', 'Give true or false.']
      : typeof value === 'number'
        ? [typeof stored === 'string' ? 'date-times' : 'numbers', numberHint(operand)]
        : [
            'strings',
            isShort(value) ? `Write it as a string, such as ${JSON.stringify(value)}.` : 'Write it as a string.',
          ]
  const shown = isShort(field) ? field.toWellFormed() : 'the rangeField'
  return `Under this hash, ${shown} has ${type}, and range.${operator} is ${shownOperand(operand)}, which matches none of them. ${advice}`
}
