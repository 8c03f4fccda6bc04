import { parseIsoDateTime } from '../../../../server/src/core/text/iso-date-time.ts'
import { cellOf } from '../../text/cell.ts'
import { hasSameTokens } from '../../text/keep-layout.ts'
import { decodeString } from '../../text/scan.ts'
import { type GridRow, nameText } from './rows.ts'

// Filtering and sorting the rows that are loaded. Neither asks the server: records that are not loaded are not considered.

/** A column of the grid. A field may have the name of a key. */
export type Place = 'hashKey' | 'rangeKey' | 'updatedAt' | { field: string }

export interface LoadedView {
  only?: { place: Place; json: string }
  sort?: { place: Place; isDescending: boolean }
}

export const placeName = (place: Place): string => (typeof place === 'string' ? place : place.field)

export const isSamePlace = (a: Place | undefined, b: Place): boolean =>
  typeof a === 'object' && typeof b === 'object' ? a.field === b.field : a === b

const shownCharacters = 40

/** `status = "open"` */
export const valueWords = (place: Place, json: string): string => {
  const { text, isCut } = cellOf(json.slice(0, shownCharacters), 0, shownCharacters)
  return `${nameText(placeName(place))} = ${text}${isCut || json.length > shownCharacters ? '…' : ''}`
}

/** The JSON text of the value that a row has in a column; undefined if it has none. */
export const jsonAt = ({ record, fields }: GridRow, place: Place): string | undefined => {
  if (typeof place === 'object') {
    const span = fields.get(place.field)
    return span && record.data.slice(span.start, span.end)
  }
  const value = record[place]
  return value === undefined ? undefined : JSON.stringify(value)
}

const isNumber = (json: string): boolean => /^[-\d]/.test(json)
const textOf = (json: string): string => decodeString(json, 0, json.length)

const isSameValue = (a: string, b: string): boolean => {
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b)
  if (a.startsWith('"') && b.startsWith('"')) return textOf(a) === textOf(b)
  return hasSameTokens(a, b)
}

const kinds = ['boolean', 'number', 'string']

/** The value as an index takes it, after its kind; the last kind is what no index takes. */
const sortKey = (json: string): [kind: number, value: unknown] => {
  if (!/^["\dtf-]/.test(json)) return [kinds.length, '']
  const value: unknown = JSON.parse(json)
  const indexed = typeof value === 'string' ? (parseIsoDateTime(value) ?? value) : value
  return [kinds.indexOf(typeof indexed), indexed]
}

const compare = <T>(a: T, b: T): number => Number(a > b) - Number(a < b)

/** Sorts as an index does: booleans, numbers and date-times, strings; then what no index takes. */
const sorted = (rows: readonly GridRow[], place: Place, isDescending: boolean): GridRow[] => {
  const keyed = rows.map((row) => {
    const json = jsonAt(row, place)
    return { row, key: json === undefined ? undefined : sortKey(json) }
  })
  const sign = isDescending ? -1 : 1
  // Rows without the value come last in both directions. The sort is stable.
  keyed.sort(({ key: a }, { key: b }) =>
    a === undefined || b === undefined
      ? Number(a === undefined) - Number(b === undefined)
      : sign * (compare(a[0], b[0]) || compare(a[1], b[1])),
  )
  return keyed.map(({ row }) => row)
}

export const viewOf = (rows: readonly GridRow[], { only, sort }: LoadedView): readonly GridRow[] => {
  const kept =
    only === undefined
      ? rows
      : rows.filter((row) => {
          const json = jsonAt(row, only.place)
          return json !== undefined && isSameValue(json, only.json)
        })
  return sort === undefined ? kept : sorted(kept, sort.place, sort.isDescending)
}
