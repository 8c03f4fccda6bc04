import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { similarName } from '../similar-name.ts'
import {
  coerceIndexValue,
  encodeIndexValue,
  type IndexScalar,
  indexValueFault,
  typeSpan,
} from '../tables/index-value.ts'
import { utf8Bytes } from './record-key.ts'

export const rangeOperators = ['eq', 'lt', 'lte', 'gt', 'gte', 'between', 'beginsWith'] as const
export type RangeOperator = (typeof rangeOperators)[number]

/** A parsed range condition. ISO date-times are already numbers, except for the primary key. */
export interface RangeCondition {
  operator: RangeOperator
  /** The operand, or the lower one of `between`. */
  operand: IndexScalar
  upper?: IndexScalar
  /** The upper bound beside `gt` or `gte`. Its operand has the same type and is not lower. */
  below?: { operator: 'lt' | 'lte'; operand: IndexScalar }
}

/** The values that the range applies to: record range keys, `updatedAt`, or the values of a declared index. */
export type RangeOver = 'primary' | 't' | 'index'

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_range', `${field} ${message}`, { field, hint })
}

/** Says how to write a date, or milliseconds that were given as a string. */
const instantHint = (value: unknown): string => {
  if (typeof value === 'string' && /^[0-9]{10,15}$/.test(value)) return `Write it as ${value}.`
  const ms = typeof value === 'string' && value.length <= 40 ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms)) return 'Write it as 1767225600000 or "2026-01-01T00:00:00Z".'
  return `Write it as "${new Date(ms).toISOString()}".`
}

const parseOperand = (value: unknown, over: RangeOver, field: string): IndexScalar => {
  if (over === 'primary') {
    if (typeof value !== 'string') {
      const hint = typeof value === 'number' ? `Write it as "${value}".` : undefined
      return refuse(field, `is ${describeValue(value)}; range keys are strings.`, hint)
    }
  } else if (over === 't') {
    const instant = typeof value === 'string' ? coerceIndexValue(value) : value
    if (typeof instant !== 'number' || !Number.isFinite(instant)) {
      return refuse(
        field,
        `is ${describeValue(value)}; t takes epoch milliseconds or an ISO-8601 date-time.`,
        instantHint(value),
      )
    }
    return instant
  }
  const fault = indexValueFault(value)
  if (fault !== undefined) {
    return refuse(field, `is ${fault}; it takes ${over === 'primary' ? 'a string' : 'a string, number or boolean'}.`)
  }
  return over === 'primary' ? (value as string) : coerceIndexValue(value as IndexScalar)
}

const parsePrefix = (value: unknown, over: RangeOver, field: string): string => {
  if (over === 't') return refuse(field, 'is not allowed for t, which holds numbers.', 'Use between, gte or lt.')
  if (typeof value !== 'string') return refuse(field, `is ${describeValue(value)}; beginsWith takes a string.`)
  const fault = indexValueFault(value)
  return fault === undefined ? value : refuse(field, `is ${fault}.`)
}

const compareOperands = (a: IndexScalar, b: IndexScalar, over: RangeOver): number =>
  over === 'primary'
    ? Buffer.compare(utf8Bytes(a as string), utf8Bytes(b as string))
    : Buffer.compare(utf8Bytes(encodeIndexValue(a)), utf8Bytes(encodeIndexValue(b)))

/** The hint for a date beside a date-time, which is compared as a number. */
const dateHint = (low: IndexScalar, high: IndexScalar): string | undefined => {
  const text = typeof low === 'string' ? low : high
  if (typeof text !== 'string' || !/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return undefined
  return `A date-time is compared as a number, and a date as text. Write ${text} as "${text}T00:00:00Z".`
}

/** Rejects bounds of two types, and a lower bound that is above the upper one in the order of the index. */
const refuseBounds = (field: string, low: IndexScalar, high: IndexScalar, over: RangeOver, hint: string): void => {
  if (typeof low !== typeof high) {
    refuse(field, `has a ${typeof low} and a ${typeof high}; both bounds must have the same type.`, dateHint(low, high))
  }
  if (compareOperands(low, high, over) > 0) refuse(field, 'has its low bound above its high one.', hint)
}

/** Shows the bounds as they were written, if they are short. */
const lowerFirst = ([low, high]: unknown[]): string => {
  const swapped = JSON.stringify([high, low])
  return `Put the lower bound first${swapped.length <= 80 ? `: ${swapped}` : ''}.`
}

const operatorsRule = 'it takes one operator, or one of gt and gte together with one of lt and lte'

const isLower = (name: string): name is 'gt' | 'gte' => name === 'gt' || name === 'gte'
const isUpper = (name: string): name is 'lt' | 'lte' => name === 'lt' || name === 'lte'

const operatorsHint = (names: string[]): string => {
  if (names.includes('between')) return 'between has both bounds already; leave the other operators out.'
  if (names.length === 2 && names.every(isLower)) return 'Both are lower bounds; leave one of them out.'
  if (names.length === 2 && names.every(isUpper)) return 'Both are upper bounds; leave one of them out.'
  return 'For example { "gte": 10, "lt": 20 }.'
}

/** The names that other services use for the operators. */
const otherOperators: Readonly<Record<string, RangeOperator>> = {
  '=': 'eq',
  '==': 'eq',
  '>': 'gt',
  '>=': 'gte',
  '<': 'lt',
  '<=': 'lte',
  from: 'gte',
  after: 'gt',
  to: 'lte',
  before: 'lt',
  startsWith: 'beginsWith',
  prefix: 'beginsWith',
}

const operatorHint = (name: string): string => {
  const bare = name.replace(/^\$/, '')
  const meant = Object.hasOwn(otherOperators, bare) ? otherOperators[bare] : similarName(bare, rangeOperators)
  const known = rangeOperators.find((operator) => operator === bare)
  return meant === undefined && known === undefined
    ? 'For example { "gte": 10, "lt": 20 }.'
    : `Write ${JSON.stringify(name.slice(0, 80).toWellFormed())} as "${meant ?? known}".`
}

/** The operators of the range: one, or a lower and an upper bound in this order. */
const parseOperators = (names: string[]): RangeOperator[] => {
  const unknown = names.find((name) => !rangeOperators.includes(name as RangeOperator))
  if (unknown !== undefined) {
    const found = `has the operator "${unknown.slice(0, 80).toWellFormed()}"`
    return refuse('range', `${found}; the operators are ${rangeOperators.join(', ')}.`, operatorHint(unknown))
  }
  if (names.length === 1) return names as RangeOperator[]
  const [lower, upper] = [names.find(isLower), names.find(isUpper)]
  if (names.length === 2 && lower !== undefined && upper !== undefined) return [lower, upper]
  const found = names.length === 0 ? 'has no operator' : `has ${names.join(' and ')}`
  return refuse('range', `${found}; ${operatorsRule}.`, operatorsHint(names))
}

export const parseRange = (value: unknown, over: RangeOver): RangeCondition | undefined => {
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse(
      'range',
      `is ${describeValue(value)}; it takes an object with one or two operators.`,
      'For example { "gte": 10, "lt": 20 }.',
    )
  }
  const operands = value as Record<string, unknown>
  const [operator, upperOperator] = parseOperators(Object.keys(value)) as [RangeOperator, ('lt' | 'lte')?]
  const operand = operands[operator]
  const field = `range.${operator}`
  if (upperOperator !== undefined) {
    const low = parseOperand(operand, over, field)
    const high = parseOperand(operands[upperOperator], over, `range.${upperOperator}`)
    refuseBounds('range', low, high, over, `Give ${operator} the lower value.`)
    return { operator, operand: low, below: { operator: upperOperator, operand: high } }
  }
  if (operator === 'beginsWith') return { operator, operand: parsePrefix(operand, over, field) }
  if (operator !== 'between') return { operator, operand: parseOperand(operand, over, field) }
  if (!Array.isArray(operand) || operand.length !== 2) {
    return refuse(field, `is ${describeValue(operand)}; it takes [low, high].`, 'For example { "between": [10, 20] }.')
  }
  const low = parseOperand(operand[0], over, `${field}[0]`)
  const upper = parseOperand(operand[1], over, `${field}[1]`)
  refuseBounds(field, low, upper, over, lowerFirst(operand))
  return { operator, operand: low, upper }
}

/** The first bytes after every string that starts with `prefix`; undefined if there are none. */
const prefixEnd = (prefix: Uint8Array): Uint8Array | undefined => {
  for (let i = prefix.length - 1; i >= 0; i--) {
    if (prefix[i]! === 0xff) continue
    const end = prefix.slice(0, i + 1)
    end[i]!++
    return end
  }
  return undefined
}

export interface ByteBounds {
  low: Uint8Array
  high: Uint8Array
}

/** UTF-8 text never contains the byte 0xff, so this is greater than every key. */
const aboveAllText = new Uint8Array([0xff])

const beginsWithBounds = (prefix: string, high: Uint8Array): ByteBounds => {
  const low = utf8Bytes(prefix)
  return { low, high: prefixEnd(low) ?? high }
}

// The bounds are half-open: `text + NUL` is the next text in byte order, so appending NUL turns an inclusive bound into an
// exclusive one.
const comparisonBounds = (range: RangeCondition, encode: (v: IndexScalar) => string, all: ByteBounds): ByteBounds => {
  if (range.below !== undefined) {
    const { below, ...above } = range
    return { low: comparisonBounds(above, encode, all).low, high: comparisonBounds(below, encode, all).high }
  }
  const at = encode(range.operand)
  switch (range.operator) {
    case 'eq':
      return { low: utf8Bytes(at), high: utf8Bytes(`${at}\0`) }
    case 'lt':
      return { low: all.low, high: utf8Bytes(at) }
    case 'lte':
      return { low: all.low, high: utf8Bytes(`${at}\0`) }
    case 'gt':
      return { low: utf8Bytes(`${at}\0`), high: all.high }
    case 'gte':
      return { low: utf8Bytes(at), high: all.high }
    default:
      return { low: utf8Bytes(at), high: utf8Bytes(`${encode(range.upper!)}\0`) }
  }
}

export const primaryBounds = (range: RangeCondition | undefined): ByteBounds => {
  const all = { low: new Uint8Array(0), high: aboveAllText }
  if (range === undefined) return all
  if (range.operator === 'beginsWith') return beginsWithBounds(range.operand as string, aboveAllText)
  return comparisonBounds(range, (value) => value as string, all)
}

/** A condition matches only values of its operand's type: the bounds stay within that type's span. */
export const indexBounds = (range: RangeCondition | undefined): ByteBounds => {
  if (range === undefined) return { low: new Uint8Array(0), high: aboveAllText }
  if (range.operator === 'beginsWith') return beginsWithBounds(`s${range.operand as string}`, aboveAllText)
  const span = typeSpan(encodeIndexValue(range.operand))
  return comparisonBounds(range, encodeIndexValue, { low: utf8Bytes(span.low), high: utf8Bytes(span.high) })
}

const timeEnd = Number.MAX_SAFE_INTEGER
const clamp = (value: number): number => Math.min(Math.max(value, -timeEnd), timeEnd)

/** `updatedAt` is an integer: a fractional operand is rounded to the integer that keeps the meaning. */
export const timeBounds = (range: RangeCondition | undefined): { low: number; high: number } => {
  if (range === undefined) return { low: -timeEnd, high: timeEnd }
  if (range.below !== undefined) {
    const { below, ...above } = range
    return { low: timeBounds(above).low, high: timeBounds(below).high }
  }
  const at = range.operand as number
  const from = (value: number): number => clamp(Math.ceil(value))
  const after = (value: number): number => clamp(Math.floor(value) + 1)
  switch (range.operator) {
    case 'eq':
      return { low: from(at), high: after(at) }
    case 'lt':
      return { low: -timeEnd, high: from(at) }
    case 'lte':
      return { low: -timeEnd, high: after(at) }
    case 'gt':
      return { low: after(at), high: timeEnd }
    case 'gte':
      return { low: from(at), high: timeEnd }
    default:
      return { low: from(at), high: after(range.upper as number) }
  }
}
