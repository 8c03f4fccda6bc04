import type { IndexScalar } from '../../src/core/tables/index-value.ts'

// The contract's words on order and ranges, written as plainly as they go and without the encoding that
// the server uses, so that the two can disagree.

const isoDateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** The part of a value that an index sees. Test data has no date-time that only looks like one. */
export const indexed = (value: IndexScalar): IndexScalar =>
  typeof value === 'string' && isoDateTime.test(value) ? Date.parse(value) : value

const typeRank = (value: IndexScalar): number => ['boolean', 'number', 'string'].indexOf(typeof value)

export const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Booleans (false, true), then numbers, then strings by UTF-8 bytes. */
export const compareIndexed = (a: IndexScalar, b: IndexScalar): number => {
  const [left, right] = [indexed(a), indexed(b)]
  if (typeof left !== typeof right) return typeRank(left) - typeRank(right)
  if (typeof left === 'string') return compareText(left, right as string)
  return Number(left) - Number(right)
}

export type NaiveRange =
  | { eq: IndexScalar }
  | { lt: IndexScalar }
  | { lte: IndexScalar }
  | { gt: IndexScalar }
  | { gte: IndexScalar }
  | NaiveBounds
  | { between: [IndexScalar, IndexScalar] }
  | { beginsWith: string }

/** A lower and an upper bound together. */
export type NaiveBounds =
  | { gt: IndexScalar; lt: IndexScalar }
  | { gt: IndexScalar; lte: IndexScalar }
  | { gte: IndexScalar; lt: IndexScalar }
  | { gte: IndexScalar; lte: IndexScalar }

/** A range condition on an index value, or on `updatedAt`. It only ever matches its operand's own type. */
export const matchesIndexed = (value: IndexScalar, range: NaiveRange | undefined): boolean => {
  if (range === undefined) return true
  const seen = indexed(value)
  if ('beginsWith' in range) return typeof seen === 'string' && seen.startsWith(range.beginsWith)
  const against = (operand: IndexScalar): number | undefined =>
    typeof seen === typeof indexed(operand) ? compareIndexed(seen, operand) : undefined
  return holds(range, against)
}

/** The same on a record's range key: strings stay strings. */
export const matchesText = (value: string, range: NaiveRange | undefined): boolean => {
  if (range === undefined) return true
  if ('beginsWith' in range) return value.startsWith(range.beginsWith)
  return holds(range, (operand) => compareText(value, operand as string))
}

const holds = (
  range: Exclude<NaiveRange, { beginsWith: string }>,
  against: (operand: IndexScalar) => number | undefined,
): boolean => {
  if ('between' in range) {
    const [low, high] = [against(range.between[0]), against(range.between[1])]
    return low !== undefined && high !== undefined && low >= 0 && high <= 0
  }
  if ('eq' in range) return against(range.eq) === 0
  // One bound, or one of each kind.
  return (
    (!('lt' in range) || (against(range.lt) ?? 0) < 0) &&
    (!('gt' in range) || (against(range.gt) ?? 0) > 0) &&
    (!('lte' in range) || (against(range.lte) ?? 1) <= 0) &&
    (!('gte' in range) || (against(range.gte) ?? -1) >= 0)
  )
}
