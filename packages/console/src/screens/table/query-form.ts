import { pageRowsMax } from '../../../../server/src/core/limits.ts'
import type { Indices, Slot } from '../../api/types.ts'
import { type DayEdge, type ReadOperand, readDay, readIndexValue, readKey, readPrefix, readTime } from './operand.ts'

// The query bar as values, and the request that they mean.

export type IndexName = 'key' | 't' | Slot
export type Operator = 'eq' | 'gt' | 'gte' | 'lt' | 'lte' | 'between' | 'beginsWith'

export interface QueryForm {
  index: IndexName
  /** The texts of the values are kept as typed. */
  hash: string
  /** The operator is empty if there is no range. */
  first: Operator | ''
  low: string
  /** A second bound, only above `gt` and `gte`. */
  second: 'lt' | 'lte' | ''
  high: string
  isAscending: boolean
  limit: string
}

/** The parts of a query that an index allows. */
interface Shape {
  /** The field is undefined for `t`, which has no hash. */
  hashField?: string
  /** The field is undefined if the index is declared without one. */
  rangeField?: string
  operators: readonly Operator[]
  readHash: (typed: string) => ReadOperand
  readBound: (typed: string) => ReadOperand
}

export const operatorWords: Readonly<Record<Operator, string>> = {
  eq: '=',
  gt: '>',
  gte: '≥',
  lt: '<',
  lte: '≤',
  between: 'between',
  beginsWith: 'begins with',
}

const times: readonly Operator[] = ['gte', 'gt', 'lt', 'lte', 'eq', 'between']
const all: readonly Operator[] = [...times, 'beginsWith']

export const newestFirst: QueryForm = {
  index: 't',
  hash: '',
  first: '',
  low: '',
  second: '',
  high: '',
  isAscending: false,
  limit: '100',
}

export const slotsOf = (indices: Indices): Slot[] => (Object.keys(indices) as Slot[]).sort()

export const shapeOf = (index: IndexName, indices: Indices): Shape => {
  if (index === 'key') {
    return { hashField: 'hashKey', rangeField: 'rangeKey', operators: all, readHash: readKey, readBound: readKey }
  }
  if (index === 't') {
    return { rangeField: 'updatedAt', operators: times, readHash: readIndexValue, readBound: readTime }
  }
  const { hashField, rangeField } = indices[index]!
  return { hashField, rangeField, operators: all, readHash: readIndexValue, readBound: readIndexValue }
}

/** `i1 · status, createdAt` */
export const indexLabel = (index: IndexName, indices: Indices): string => {
  if (index === 't') return 't · updatedAt'
  const { hashField, rangeField } = shapeOf(index, indices)
  const fields = [hashField, rangeField].filter((field) => field !== undefined).join(', ')
  return index === 'key' ? `key · ${fields}` : `${index} · ${fields}`
}

/** Another index means other fields: only the limit stays. */
export const withIndex = (form: QueryForm, index: IndexName): QueryForm => ({
  ...newestFirst,
  index,
  isAscending: index !== 't',
  limit: form.limit,
})

export const hasSecond = (first: QueryForm['first']): boolean => first === 'gt' || first === 'gte'

export type FormField = 'hash' | 'low' | 'high' | 'limit'
/** The members of a request with their JSON text, in their order. */
export type Members = readonly (readonly [name: string, json: string])[]
export type ReadForm = { members: Members; range?: Members } | { field: FormField; fault: string }

class FieldFault extends Error {
  constructor(
    readonly field: FormField,
    fault: string,
  ) {
    super(fault)
  }
}

const jsonOf = (field: FormField, operand: ReadOperand): string => {
  if ('fault' in operand) throw new FieldFault(field, operand.fault)
  return operand.json
}

/** `lte` a day includes all of it, `gt` a day begins after it. */
const dayEdges: Partial<Record<Operator, DayEdge>> = { gte: 'start', gt: 'end', lt: 'start', lte: 'end' }

/** Reads a bound under its operator. */
export const boundReader = (
  { first, second }: QueryForm,
  { readBound }: Shape,
  bound: 'low' | 'high',
): ((typed: string) => ReadOperand) => {
  if (readBound === readKey || first === '') return readBound
  if (first === 'beginsWith') return readPrefix
  const between = bound === 'low' ? 'start' : 'end'
  const edge = first === 'between' ? between : dayEdges[bound === 'low' ? first : second || first]
  return edge === undefined ? readBound : readDay(readBound, edge)
}

const rangeOf = (form: QueryForm, shape: Shape): Members | undefined => {
  const { first, second, low, high } = form
  if (first === '' || shape.rangeField === undefined || !shape.operators.includes(first)) return undefined
  const lowJson = jsonOf('low', boundReader(form, shape, 'low')(low))
  const highJson = (): string => jsonOf('high', boundReader(form, shape, 'high')(high))
  if (first === 'between') return [[first, `[${lowJson},${highJson()}]`]]
  if (!hasSecond(first) || second === '') return [[first, lowJson]]
  return [
    [first, lowJson],
    [second, highJson()],
  ]
}

const limitOf = (typed: string): string => {
  const text = typed.trim()
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= pageRowsMax) return text
  throw new FieldFault('limit', `The limit is ${JSON.stringify(typed)}; it takes a number from 1 to 1000.`)
}

/** The request of the form, or the first field that is wrong and why. */
export const readForm = (form: QueryForm, indices: Indices): ReadForm => {
  const shape = shapeOf(form.index, indices)
  const members: [string, string][] = []
  try {
    if (form.index !== 'key') members.push(['index', JSON.stringify(form.index)])
    if (shape.hashField !== undefined) members.push(['hash', jsonOf('hash', shape.readHash(form.hash))])
    const range = rangeOf(form, shape)
    if (range !== undefined) members.push(['range', objectText(range)])
    // The default is left out.
    if (form.isAscending !== (form.index !== 't')) members.push(['ascending', String(form.isAscending)])
    members.push(['limit', limitOf(form.limit)])
    return { members, range }
  } catch (fault) {
    if (!(fault instanceof FieldFault)) throw fault
    return { field: fault.field, fault: fault.message }
  }
}

const objectText = (members: Members): string =>
  `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`

/** The same request with other members: a cursor, another limit, `select`. */
export const bodyOf = (members: Members, changed: Readonly<Record<string, unknown>> = {}): string =>
  objectText([
    ...members.filter(([name]) => !(name in changed)),
    ...Object.entries(changed)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, JSON.stringify(value)] as const),
  ])

/** The range without what its operators do not use. */
export const settledRange = ({
  first,
  low,
  second,
  high,
}: QueryForm): Pick<QueryForm, 'first' | 'low' | 'second' | 'high'> => {
  if (first === '') return { first, low: '', second: '', high: '' }
  if (first === 'between') return { first, low, second: '', high }
  return hasSecond(first) && second !== '' ? { first, low, second, high } : { first, low, second: '', high: '' }
}
