import type { Indices } from '../../api/types.ts'
import { indexFields } from '../record/placement.ts'
import { slotsOf } from './query-form.ts'
import { cellAt, type GridRow, nameText } from './rows.ts'

// Which fields the grid shows, in which order and how wide.

export interface Column {
  name: string
  /** The indices that the field is in, shown in the head. */
  slots: string[]
  isNumber: boolean
  widthPx: number
}

const otherFieldsShown = 6
/** So many names are offered; records may have any number of fields. */
const fieldsOfferedMax = 200
const measuredRows = 200
const characterPx = 7.3
const paddingPx = 26

/** Index fields first, then the other fields of these rows, the most frequent first. */
export const fieldsOf = (rows: readonly GridRow[], indices: Indices): string[] => {
  const first = indexFields(indices)
  const counts = new Map<string, number>()
  for (const { fields } of rows) for (const name of fields.keys()) counts.set(name, (counts.get(name) ?? 0) + 1)
  for (const name of first) counts.delete(name)
  // The sort is stable: fields of one frequency stay in the order of the records.
  const others = [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name)
  return [...first, ...others.slice(0, fieldsOfferedMax)]
}

/** What is shown until the reader chooses. */
export const defaultFields = (fields: readonly string[], indices: Indices): string[] =>
  fields.slice(0, indexFields(indices).length + otherFieldsShown)

const slotsWith = (name: string, indices: Indices): string[] =>
  slotsOf(indices).filter((slot) => indices[slot]!.hashField === name || indices[slot]!.rangeField === name)

/** From the lengths of texts, so that the browser need not lay out every cell and nothing jumps when rows are added. */
export const widthOf = (lengths: Iterable<number>, min: number, max: number): number => {
  let longest = min
  for (const length of lengths) longest = Math.max(longest, length)
  return Math.round(Math.min(longest, max) * characterPx) + paddingPx
}

export const columnOf = (name: string, rows: readonly GridRow[], indices: Indices): Column => {
  const slots = slotsWith(name, indices)
  const lengths = [nameText(name).length + slots.length * 3]
  let numbers = 0
  let others = 0
  for (const row of rows.slice(0, measuredRows)) {
    const cell = cellAt(row, name)
    if (cell === undefined) continue
    lengths.push(cell.text.length)
    if (cell.kind === 'number') numbers++
    else if (cell.kind !== 'null') others++
  }
  return { name, slots, isNumber: numbers > others, widthPx: widthOf(lengths, 5, 34) }
}
