import type { Indices } from '../../api/types.ts'
import { dayText, readIndexValue } from './operand.ts'
import { newestFirst, operatorWords, type QueryForm, readForm, settledRange, shapeOf, withIndex } from './query-form.ts'

// An empty result says what was asked and what to loosen.

interface Loosening {
  label: string
  form: QueryForm
}

/** `status "open", createdAt ≥ 2026-11-01T00:00:00Z and < 2026-12-01T00:00:00Z` */
export const askedWords = (form: QueryForm, indices: Indices): string => {
  const { hashField, rangeField } = shapeOf(form.index, indices)
  const words: string[] = []
  if (hashField !== undefined)
    words.push(`${hashField} ${form.index === 'key' ? JSON.stringify(form.hash) : form.hash}`)
  const { first, low, second, high } = settledRange(form)
  if (first !== '' && rangeField !== undefined) {
    const upper = first === 'between' ? ` and ${high}` : second === '' ? '' : ` and ${operatorWords[second]} ${high}`
    words.push(`${rangeField} ${operatorWords[first]} ${low}${upper}`)
  }
  return words.join(', ')
}

/** The same value as another type: "1" and 1 are two values of an index. */
const otherType = (typed: string): { text: string; kind: string } | undefined => {
  const operand = readIndexValue(typed)
  if ('fault' in operand) return undefined
  if (operand.kind !== 'string') return { text: JSON.stringify(operand.json), kind: 'string' }
  const inner = readIndexValue(JSON.parse(operand.json) as string)
  return 'fault' in inner || inner.kind === 'string' ? undefined : { text: inner.json, kind: inner.kind }
}

/** Records may store days as text, which no instant is compared with. */
const withDaysAsText = (form: QueryForm): QueryForm | undefined => {
  const low = dayText(form.low)
  const high = dayText(form.high)
  return low === undefined && high === undefined
    ? undefined
    : { ...form, low: low ?? form.low, high: high ?? form.high }
}

/** The queries that may find something, the likeliest first. */
export const looseningsOf = (form: QueryForm, indices: Indices): Loosening[] => {
  const found: Loosening[] = []
  const { first, low, second, high } = settledRange(form)
  const isIndex = form.index !== 'key' && form.index !== 't'
  const asText = isIndex ? withDaysAsText({ ...form, first, low, second, high }) : undefined
  if (asText !== undefined) found.push({ label: 'Compare the days as text', form: asText })
  if (first !== '')
    found.push({ label: 'Remove the range', form: { ...form, first: '', low: '', second: '', high: '' } })
  const other = isIndex ? otherType(form.hash) : undefined
  if (other !== undefined)
    found.push({ label: `Ask for the ${other.kind} ${other.text}`, form: { ...form, hash: other.text } })
  if (form.index !== 't')
    found.push({ label: 'Show the newest records', form: withIndex({ ...newestFirst, limit: form.limit }, 't') })
  return found.filter(({ form: loosened }) => !('fault' in readForm(loosened, indices)))
}

/** A query without any condition finds nothing only in an empty table. */
export const isWholeTable = (form: QueryForm): boolean => form.index === 't' && form.first === ''
