import type { RecordRow } from '../../api/types.ts'
import { type Cell, cellOf } from '../../text/cell.ts'
import { compactJson } from '../../text/format.ts'
import { membersOf, type Span } from '../../text/scan.ts'

// A record in the grid: its exact text, and where its top-level values stand in it.

export interface GridRow {
  id: string
  record: RecordRow
  fields: ReadonlyMap<string, Span>
  /** Cells are made when they are first shown. */
  cells: Map<string, Cell | undefined>
}

export interface RecordKeys {
  hashKey: string
  rangeKey?: string
}

/** A range key of `#` is the same as none. */
export const idOf = ({ hashKey, rangeKey }: RecordKeys): string =>
  JSON.stringify(rangeKey === undefined || rangeKey === '#' ? [hashKey] : [hashKey, rangeKey])

export const gridRow = (record: RecordRow): GridRow => ({
  id: idOf(record),
  record,
  // The last of several members with one name counts, as it does for the server's indices.
  fields: new Map(membersOf(record.data).map(({ name, start, end }) => [name, { start, end }])),
  cells: new Map(),
})

/** The value of a field as a cell; undefined if the record does not have it. */
export const cellAt = ({ record, fields, cells }: GridRow, name: string): Cell | undefined => {
  if (!cells.has(name)) {
    const span = fields.get(name)
    cells.set(name, span && cellOf(record.data, span.start, span.end))
  }
  return cells.get(name)
}

/** A text without control characters and characters that reorder or break a line. */
const plain = /^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\p{Cs}]{0,200}$/u

/** Keys and names of fields have no quotes: both are always strings. What is not plain text is shown as escapes. */
export const nameText = (name: string): string => {
  if (plain.test(name)) return name
  const json = JSON.stringify(name)
  const { text, isCut } = cellOf(json, 0, json.length)
  return isCut ? `${text.slice(1)}…` : text.slice(1, -1)
}

export const keyText = ({ hashKey, rangeKey }: RecordKeys): string =>
  rangeKey === undefined ? nameText(hashKey) : `${nameText(hashKey)} / ${nameText(rangeKey)}`

/** Line breaks in JSON are white space between values: in strings they are escapes. */
const onOneLine = (text: string): string => (/[\r\n]/.test(text) ? compactJson(text) : text)

/** The whole record on one line. Its data is exact but for white space outside strings, if that had line breaks. */
export const lineOf = ({ hashKey, rangeKey, data, ttl, updatedAt }: RecordRow, place: object = {}): string => {
  const before = JSON.stringify({ ...place, hashKey, rangeKey })
  const after = JSON.stringify({ ttl, updatedAt })
  return `${before.slice(0, -1)},"data":${onOneLine(data)},${after.slice(1)}`
}
