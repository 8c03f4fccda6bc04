import type { Slot } from './indices.ts'
import { utf8Bytes } from './record-key.ts'

/**
 * A range scan over one order of a table, as engines run it. Bounds are half-open and always there, so an
 * engine needs two statements an index, one a direction:
 *
 *     ascending   (range, id) > (low, lowId)  and  range < high
 *     descending  range >= low  and  (range, id) < (high, highId)
 *
 * Ids start at 1, so an id of 0 in the row comparison means "the whole of that range value". In `primary`
 * the range key is unique and ids play no part: `low <= range_key < high`.
 */
export type Scan = ByteScan | TimeScan

interface ScanBase {
  lowId: number
  highId: number
  descending: boolean
}

export interface ByteScan extends ScanBase {
  index: 'primary' | Slot
  /** The hash key itself, or the encoded value of the index hash. */
  hash: string
  low: Uint8Array
  high: Uint8Array
}

export interface TimeScan extends ScanBase {
  index: 't'
  low: number
  high: number
}

/** Where a page ended: the last row's own place in the order. `range` is a number in `t`, text elsewhere. */
export interface Position {
  range: string | number
  id: number
}

/** The same scan from just behind `position` on. A position outside the bounds never widens them. */
export const resumeScan = (scan: Scan, position: Position): Scan => {
  if (scan.index === 't') {
    const range = position.range as number
    if (scan.descending) return range < scan.high ? { ...scan, high: range, highId: position.id } : scan
    return range >= scan.low ? { ...scan, low: range, lowId: position.id } : scan
  }
  const range = position.range as string
  if (scan.descending) {
    const high = utf8Bytes(range)
    return Buffer.compare(high, scan.high) < 0 ? { ...scan, high, highId: position.id } : scan
  }
  const low = utf8Bytes(scan.index === 'primary' ? `${range}\0` : range)
  return Buffer.compare(low, scan.low) >= 0 ? { ...scan, low, lowId: position.id } : scan
}
