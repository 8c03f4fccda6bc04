import type { QueryRequest, RangeOperator } from '../transport/wire.ts'
import type { KeyChange } from '../transport/wire-changes.ts'

/** The server orders keys by their UTF-8. In UTF-16 the two halves of a character come before U+E000, in UTF-8 after U+FFFF. */
const weightOf = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit)

const compare = (a: string, b: string): number => {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const difference = weightOf(a.charCodeAt(i)) - weightOf(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

const holds: Record<RangeOperator, (key: string, operand: never) => boolean> = {
  eq: (key, operand: string) => key === operand,
  lt: (key, operand: string) => compare(key, operand) < 0,
  lte: (key, operand: string) => compare(key, operand) <= 0,
  gt: (key, operand: string) => compare(key, operand) > 0,
  gte: (key, operand: string) => compare(key, operand) >= 0,
  between: (key, [low, high]: [string, string]) => compare(key, low) >= 0 && compare(key, high) <= 0,
  beginsWith: (key, operand: string) => key.startsWith(operand),
}

/** Whether the result may be another one after this change, of the same hash key. Of an index nobody knows. */
export const mayConcern = ({ index, range }: QueryRequest, { rangeKey = '#' }: KeyChange): boolean =>
  index !== undefined ||
  // As it is sent: dates are texts.
  Object.entries<never>(JSON.parse(JSON.stringify(range ?? {}))).every(
    ([operator, operand]) => holds[operator as RangeOperator]?.(rangeKey, operand) ?? true,
  )
