import type { IndexScalar } from '../../src/core/tables/index-value.ts'
import { type Indices, slots } from '../../src/core/tables/indices.ts'
import { compareIndexed, compareText, indexed, type NaiveRange } from './naive-order.ts'
import type { Random } from './random.ts'

// The values of which requests are made: few values, so that they meet often, and odd ones, so that it matters.

export const hashKeys = ['a', 'b', 'a\0', 'é/ü', 'x y?&=', '%2F', '\u{1f511}', '#', '__proto__']
export const rangeKeys = ['#', '1', '10', '2', 'a', 'ab', 'a\0b', 'é', '\uffff', '\u{10000}', '..a', '#1']
export const tableNames = ['orders', 'orders-2', 'users']

const scalars: IndexScalar[] = [
  true,
  false,
  -1e21,
  -2.5,
  0,
  -0,
  1,
  2,
  10,
  1735689600000,
  '2025-01-01T00:00:00Z',
  '2025-01-01T01:00:00.000+01:00',
  '2024-12-31T23:59:59.5Z',
  '2025-01-01',
  '',
  'a',
  'ab',
  'a\0',
  'é',
  '\uffff',
  '\u{10000}',
  '10',
  'open',
]

/** Fields that indices are declared over. `status` takes few values, so that many records share one. */
const fields = ['status', 'rank', 'constructor'] as const
const statuses: IndexScalar[] = ['open', 'done', true, 1]

const wrongValues = [null, [], ['open'], {}, { a: 1 }, 'x'.repeat(1_025), '\ud800']

export const makeScalar = (random: Random): IndexScalar => random.pick(scalars)

export const makeHash = (random: Random): IndexScalar =>
  random.chance(0.8) ? random.pick(statuses) : random.pick(scalars)

export const makeIndices = (random: Random): Indices => {
  const indices: Indices = {}
  for (const slot of slots) {
    if (random.chance(0.3)) continue
    const hashField = random.pick(fields)
    indices[slot] = random.chance(0.7) ? { hashField, rangeField: random.pick(fields) } : { hashField }
  }
  return indices
}

export const makeData = (random: Random): Record<string, unknown> => {
  const [status, rank, odd] = fields
  return Object.fromEntries<unknown>([
    ['mark', random.int(0, 1e9)],
    ...(random.chance(0.85) ? [[status, random.pick(statuses)]] : []),
    ...(random.chance(0.85) ? [[rank, random.pick(scalars)]] : []),
    ...(random.chance(0.3) ? [[odd, random.pick(scalars)]] : []),
    ...(random.chance(0.2) ? [['more', { nested: [null, 'é', { '': 1 }], text: '"\\\u2028' }]] : []),
  ] as [string, unknown][])
}

/** Data that no table with an index over `field` takes. */
export const spoil = (random: Random, data: Record<string, unknown>, field: string): Record<string, unknown> => ({
  ...data,
  [field]: random.pick(wrongValues),
})

/** JSON that means the same, written otherwise: data comes back as it was written. */
export const writeJson = (random: Random, value: unknown): string => {
  if (typeof value === 'number') {
    if (Object.is(value, -0)) return '-0'
    if (Number.isInteger(value) && value !== 0 && Math.abs(value) < 1e15) {
      return random.pick([`${value}`, `${value}`, `${value}.0`, `${value}e0`, `${value}0E-1`])
    }
    return String(value)
  }
  const space = random.pick(['', '', '', ' ', '\n\t', ' \r\n'])
  if (Array.isArray(value)) return `[${space}${value.map((one) => writeJson(random, one)).join(`,${space}`)}${space}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([name, one]) => `${JSON.stringify(name)}:${space}${writeJson(random, one)}`,
    )
    return `{${space}${members.join(`${space},`)}${space}}`
  }
  const text = JSON.stringify(value)
  return typeof value === 'string' && random.chance(0.1) ? text.replaceAll('a', '\\u0061') : text
}

const operators = ['eq', 'lt', 'lte', 'gt', 'gte'] as const

const makeRange = (
  random: Random,
  operands: readonly IndexScalar[],
  compare: (a: IndexScalar, b: IndexScalar) => number,
): NaiveRange => {
  const operand = random.pick(operands)
  if (random.chance(0.4)) {
    const other = random.pick(operands.filter((value) => typeof indexed(value) === typeof indexed(operand)))
    const [low, high] = compare(operand, other) <= 0 ? [operand, other] : [other, operand]
    if (random.chance(0.4)) return { between: [low, high] }
    return { [random.pick(['gt', 'gte'])]: low, [random.pick(['lt', 'lte'])]: high } as NaiveRange
  }
  return { [random.pick(operators)]: operand } as NaiveRange
}

export const makeIndexRange = (random: Random): NaiveRange =>
  random.chance(0.15)
    ? { beginsWith: random.pick(['', 'a', 'a\0', 'é', '2025-01-01', '\uffff', 'zz']) }
    : makeRange(random, scalars, compareIndexed)

export const makeTextRange = (random: Random): NaiveRange =>
  random.chance(0.2)
    ? { beginsWith: random.pick(['', '#', '1', 'a', 'a\0', '\uffff', 'zz']) }
    : makeRange(random, [...rangeKeys, '', '2025-01-01T00:00:00Z'], (a, b) => compareText(a as string, b as string))

/** Around versions that are there, so that bounds fall onto records. */
export const makeTimeRange = (random: Random, versions: number[]): NaiveRange => {
  const at = versions.length === 0 ? 0 : random.pick(versions)
  const operands: IndexScalar[] = [at, at + 1, at - 1, at + 0.5, new Date(at).toISOString()]
  if (versions.length > 0) operands.push(random.pick(versions), random.pick(versions))
  return makeRange(random, operands, compareIndexed)
}
