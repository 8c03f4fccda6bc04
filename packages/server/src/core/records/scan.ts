import type { Slot } from '../tables/indices.ts'
import { type RecordKey, utf8Bytes } from './record-key.ts'

/**
 * A range scan over one index of a table, as engines run it. Bounds are half-open and never missing, so an engine
 * needs two statements per index, one per direction:
 *
 *     ascending   (range, id) > (low, lowId)  and  range < high
 *     descending  range >= low  and  (range, id) < (high, highId)
 *
 * Ids start at 1, so an id of 0 in the row comparison means "the whole of that range value". In `primary`
 * the range key is unique and ids are not needed: `low <= range_key < high`.
 */
export type Scan = ByteScan | TimeScan | WalkScan

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

/**
 * All records of a table by hash key, then by range key, ascending, after the record with the hash key `hash` and the range key
 * `low`. Ids and `high` are not used.
 */
interface WalkScan extends ScanBase {
  index: 'walk'
  hash: string
  low: Uint8Array
  high: Uint8Array
}

/** The whole table, or what follows a record. */
export const walkAfter = (key?: RecordKey): WalkScan => ({
  index: 'walk',
  hash: key?.hashKey ?? '',
  low: utf8Bytes(key?.rangeKey ?? ''),
  high: utf8Bytes(''),
  ...{ lowId: 0, highId: 0, descending: false },
})

/** No row can be between the bounds: `gte: 3` with `lt: 3`. */
export const isEmptyScan = (scan: Scan): boolean =>
  scan.index === 't' ? scan.low >= scan.high : Buffer.compare(scan.low, scan.high) >= 0

/** The position of the last row of a page in the index. `range` is a number in `t`, text elsewhere. */
export interface Position {
  range: string | number
  id: number
  /** The hash key, in a walk. */
  hash?: string
}

const moveBound = <S extends Scan>(scan: S, bound: S['low'], id: number, order: number): S => {
  if (scan.descending) {
    return order < 0 || (order === 0 && id < scan.highId) ? { ...scan, high: bound, highId: id } : scan
  }
  return order > 0 || (order === 0 && id > scan.lowId) ? { ...scan, low: bound, lowId: id } : scan
}

/**
 * The same scan, starting just after `position`. A resumed scan can be resumed again. A position outside the bounds
 * never widens them.
 */
export const resumeScan = (scan: Scan, position: Position): Scan => {
  if (scan.index === 't') {
    const range = position.range as number
    return moveBound(scan, range, position.id, range - (scan.descending ? scan.high : scan.low))
  }
  const range = position.range as string
  if (scan.index === 'walk') return walkAfter({ hashKey: position.hash!, rangeKey: range })
  // The range key is unique, so the scan resumes at the next key (or the previous one) and ids are not needed.
  const bound = utf8Bytes(scan.index === 'primary' && !scan.descending ? `${range}\0` : range)
  const id = scan.index === 'primary' ? 0 : position.id
  return moveBound(scan, bound, id, Buffer.compare(bound, scan.descending ? scan.high : scan.low))
}

/** The same scan, starting after every range key (or range value) that begins with `folder`, which ends with `/`. */
export const skipFolder = (scan: Scan, folder: string): Scan => {
  const byteScan = scan as ByteScan
  const bound = utf8Bytes(folder)
  // The byte after `/`: the first text that does not begin with the folder, and is not below it, is at or above this.
  if (!scan.descending) bound[bound.length - 1]!++
  return moveBound(byteScan, bound, 0, Buffer.compare(bound, scan.descending ? byteScan.high : byteScan.low))
}
