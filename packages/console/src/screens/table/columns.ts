import type { Indices } from '../../api/types.ts'
import { indexFields } from '../record/placement.ts'
import { slotsOf } from './query-form.ts'
import { cellAt, type GridRow, nameText } from './rows.ts'

// The columns of the grid: their fields, order and widths.

interface Needs {
  /** The width that the head needs. */
  headPx: number
  /** The width that the longest of the measured texts needs. */
  contentPx: number
}

export interface Column extends Needs {
  name: string
  /** The indices that the field is in, shown in the head. */
  slots: string[]
  isNumber: boolean
}

const otherFieldsShown = 6
/** The names that are offered: records may have any number of fields. */
const fieldsOfferedMax = 200
const measuredRows = 200
const characterPx = 7.3
/** The padding on the right has room for the button of a cell. */
const paddingPx = 38

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

/** The columns that are shown until the reader chooses. */
export const defaultFields = (fields: readonly string[], indices: Indices): string[] =>
  fields.slice(0, indexFields(indices).length + otherFieldsShown)

const slotsWith = (name: string, indices: Indices): string[] =>
  slotsOf(indices).filter((slot) => indices[slot]!.hashField === name || indices[slot]!.rangeField === name)

const pixels = (characters: number): number => Math.round(characters * characterPx) + paddingPx

/** Estimates widths from the lengths of texts: the browser need not lay out every cell, and nothing jumps when rows are added. */
export const needsOf = (head: string, lengths: readonly number[]): Needs => ({
  // The head has room for the arrow of a sorted column.
  headPx: pixels(head.length + 2),
  contentPx: pixels(lengths.reduce((longest, length) => Math.max(longest, length), 0)),
})

export const columnOf = (name: string, rows: readonly GridRow[], indices: Indices): Column => {
  const slots = slotsWith(name, indices)
  const lengths: number[] = []
  let numbers = 0
  let others = 0
  for (const row of rows.slice(0, measuredRows)) {
    const cell = cellAt(row, name)
    if (cell === undefined) continue
    lengths.push(cell.text.length)
    if (cell.kind === 'number') numbers++
    else if (cell.kind !== 'null') others++
  }
  return { name, slots, isNumber: numbers > others, ...needsOf([nameText(name), ...slots].join(' '), lengths) }
}

/** Every column gets so much, if its content needs it. */
const sharePx = pixels(34)

/**
 * The widths of columns in a room: never narrower than the head, at first at most `sharePx` for the content. What is left of the
 * room goes in equal shares to the columns whose content is wider. A width that the reader has chosen is as chosen.
 */
export const fitWidths = (columns: readonly (Needs & { chosenPx?: number })[], roomPx: number): number[] => {
  const widths = columns.map(
    ({ headPx, contentPx, chosenPx }) => chosenPx ?? Math.max(headPx, Math.min(contentPx, sharePx)),
  )
  const lacking = (i: number): number => (columns[i]!.chosenPx === undefined ? columns[i]!.contentPx - widths[i]! : 0)
  let freePx = roomPx - widths.reduce((sum, width) => sum + width, 0)
  let narrow = widths.map((_, i) => i).filter((i) => lacking(i) > 0)
  while (freePx >= narrow.length && narrow.length > 0) {
    const share = Math.floor(freePx / narrow.length)
    for (const i of narrow) {
      const added = Math.min(share, lacking(i))
      widths[i]! += added
      freePx -= added
    }
    narrow = narrow.filter((i) => lacking(i) > 0)
  }
  return widths
}
