import { indexStringBytesMax } from '../../../../server/src/core/limits.ts'
import type { Indices } from '../../api/types.ts'
import type { TextFault } from '../../text/check.ts'
import { placeOf } from '../../text/place.ts'
import { decodeString, type Member, membersOf } from '../../text/scan.ts'

// The indices that a record will be in, by the rules of the server.

const valueFault = (text: string, { start, end }: Member): string | undefined => {
  switch (text[start]) {
    case 'n':
      return 'null'
    case '[':
      return 'an array'
    case '{':
      return 'an object'
    case 't':
    case 'f':
      return undefined
    case '"': {
      const value = decodeString(text, start, end)
      if (!value.isWellFormed()) return 'a string with a lone surrogate'
      const isLong = new TextEncoder().encode(value).length > indexStringBytesMax
      return isLong ? 'a string of more than 1,024 bytes' : undefined
    }
    default:
      return Number.isFinite(Number(text.slice(start, end))) ? undefined : 'a number that overflows a double'
  }
}

type Placement = { slots: string[]; fault?: undefined } | { fault: TextFault }

/** `text` must be valid. A field that an index cannot take makes the server reject the record. */
export const placementOf = (text: string, indices: Indices): Placement => {
  // The last of several members with one name counts.
  const members = new Map(membersOf(text).map((member) => [member.name, member]))
  const slots: string[] = []
  for (const [slot, { hashField, rangeField }] of Object.entries(indices)) {
    const fields = rangeField === undefined ? [hashField] : [hashField, rangeField]
    for (const field of fields) {
      const member = members.get(field)
      const found = member && valueFault(text, member)
      if (found === undefined) continue
      const { line, column } = placeOf(text, member!.start)
      const message = `line ${line}, column ${column}: ${field} is ${found}; index ${slot} takes a string, number or boolean`
      return { fault: { ok: false, offset: member!.start, line, column, message } }
    }
    if (fields.every((field) => members.has(field))) slots.push(slot)
  }
  return { slots }
}

/** `in i1 and i2`; empty if the table declares no index. */
export const placementWords = (slots: string[], indices: Indices): string => {
  if (Object.keys(indices).length === 0) return ''
  if (slots.length === 0) return 'in no index'
  return `in ${[slots.slice(0, -1).join(', '), slots.at(-1)].filter((part) => part !== '').join(' and ')}`
}

/** The fields of the declaration, in the order of their slots. */
export const indexFields = (indices: Indices): string[] => [
  ...new Set(
    Object.entries(indices)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, { hashField, rangeField }]) => (rangeField === undefined ? [hashField] : [hashField, rangeField])),
  ),
]
