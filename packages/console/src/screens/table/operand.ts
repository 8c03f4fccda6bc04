import { parseIsoDateTime } from '../../../../server/src/core/text/iso-date-time.ts'
import { numberForm } from '../../text/tokens.ts'

// A typed value of an index is JSON, or a bare word, which is a string. So "1" and 1 differ.

type OperandKind = 'string' | 'number' | 'boolean'

interface Operand {
  /** The text in the request. The digits of a number stay as they were typed. */
  json: string
  kind: OperandKind
  /** The instant that the server reads a date-time as. */
  instantMs?: number
}

export type ReadOperand = Operand | { fault: string }

const stringOperand = (value: string, json = JSON.stringify(value)): Operand => ({
  json,
  kind: 'string',
  instantMs: parseIsoDateTime(value),
})

const readQuoted = (text: string): ReadOperand => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'string') return stringOperand(value, text)
  } catch {
    // The fault below says so.
  }
  return {
    fault: `${text} begins with a quote but is not a JSON string. End it with a quote, and write \\" inside it.`,
  }
}

/** A value of a declared index. */
export const readIndexValue = (typed: string): ReadOperand => {
  const text = typed.trim()
  if (text === '') return { fault: 'Type a value. The empty string is "".' }
  if (text === 'true' || text === 'false') return { json: text, kind: 'boolean' }
  if (numberForm.test(text)) return { json: text, kind: 'number' }
  if (text === 'null') return { fault: 'null is in no index. The word is "null", with quotes.' }
  return text.startsWith('"') ? readQuoted(text) : stringOperand(text)
}

/** A key is always a string, so it is taken as it stands. */
export const readKey = (typed: string): ReadOperand =>
  typed === '' ? { fault: 'Type a key.' } : { json: JSON.stringify(typed), kind: 'string' }

/** The order `t` has times only. */
export const readTime = (typed: string): ReadOperand => {
  const operand = readIndexValue(typed)
  if ('fault' in operand || operand.kind === 'number' || operand.instantMs !== undefined) return operand
  if (dayTime(typed, 'start') !== undefined) return { fault: `${typed.trim()} is a whole day. Choose "between".` }
  return { fault: `${operand.json} is not a time. Write a date-time such as 2026-11-01T00:00:00Z, or milliseconds.` }
}

/** `beginsWith` takes a string and never reads it as anything else. */
export const readPrefix = (typed: string): ReadOperand => {
  const text = typed.trim()
  if (text === '') return { fault: 'Type how the value begins.' }
  const operand = text.startsWith('"') ? readQuoted(text) : stringOperand(text)
  return 'fault' in operand ? operand : { json: operand.json, kind: 'string' }
}

/** The text of a value once the reader has left it: a string gets its quotes, a day its time, a date-time stays as it is. */
export const settledText = (typed: string, read: (typed: string) => ReadOperand): string => {
  const operand = read(typed)
  if ('fault' in operand || read === readKey) return typed
  return operand.instantMs !== undefined && !typed.trim().startsWith('"') ? JSON.parse(operand.json) : operand.json
}

export type DayEdge = 'start' | 'end'

const edgeTimes: Readonly<Record<DayEdge, string>> = { start: 'T00:00:00Z', end: 'T23:59:59.999Z' }

/**
 * The first or the last instant of a day in UTC, for a date that is typed without a time. A quoted date is text, as records may
 * store it.
 */
export const dayTime = (typed: string, edge: DayEdge): string | undefined => {
  const time = `${typed.trim()}${edgeTimes[edge]}`
  return /^\d{4}-\d\d-\d\dT/.test(time) && parseIsoDateTime(time) !== undefined ? time : undefined
}

/** The text `"2026-11-18"` for an edge of that day. */
export const dayText = (typed: string): string | undefined => {
  const [, date] = /^(\d{4}-\d\d-\d\d)(?:T00:00:00Z|T23:59:59\.999Z)$/.exec(typed.trim()) ?? []
  return date && JSON.stringify(date)
}

/** Reads a date without a time as an edge of its day. */
export const readDay =
  (read: (typed: string) => ReadOperand, edge: DayEdge) =>
  (typed: string): ReadOperand =>
    read(dayTime(typed, edge) ?? typed)
