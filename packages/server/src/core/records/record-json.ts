import { pageBytesMax } from '../limits.ts'
import { noRangeKey } from './record-key.ts'
import type { RecordHead, StoredRecord } from './stored-record.ts'

const needsNoEscape = /^[ !#-[\]-~]*$/

/** Same result as JSON.stringify. Nearly every key is plain ASCII, and checking that costs half as much. */
const quote = (text: string): string => (needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text))

/** A record as it is sent. `data` is the stored text: never parsed, never stringified. */
export const recordJson = (record: StoredRecord, version = String(record.updatedAtMs)): string => {
  const { hashKey, rangeKey, data, ttlSeconds } = record
  const range = rangeKey === noRangeKey ? '' : `,"rangeKey":${quote(rangeKey)}`
  const ttl = ttlSeconds === null ? '' : `,"ttl":${ttlSeconds}`
  return `{"hashKey":${quote(hashKey)}${range},"data":${data}${ttl},"updatedAt":${version}}`
}

/** A record as it is sent without its data. */
export const headJson = ({ hashKey, rangeKey, ttlSeconds, updatedAtMs }: RecordHead): string => {
  const range = rangeKey === noRangeKey ? '' : `,"rangeKey":${quote(rangeKey)}`
  const ttl = ttlSeconds === null ? '' : `,"ttl":${ttlSeconds}`
  return `{"hashKey":${quote(hashKey)}${range}${ttl},"updatedAt":${updatedAtMs}}`
}

const frameJson = (items: string, count: number, cursor: string | null): string =>
  `{"items":[${items}],"count":${count},"cursor":${JSON.stringify(cursor)}}`

/** A page of records as it is sent. */
export const pageJson = (records: StoredRecord[], cursor: string | null): string => {
  let items = ''
  for (let i = 0; i < records.length; i++) items += `${i === 0 ? '' : ','}${recordJson(records[i]!)}`
  return frameJson(items, records.length, cursor)
}

/** A page of records without their data. */
export const keysPageJson = (records: RecordHead[], cursor: string | null): string =>
  frameJson(records.map(headJson).join(','), records.length, cursor)

/** A page that only counts. */
export const countPageJson = (count: number, cursor: string | null): string => frameJson('', count, cursor)

const bytesOf = (record: StoredRecord): number =>
  Buffer.byteLength(recordJson({ ...record, data: '' })) + Buffer.byteLength(record.data)

export const longestFrame = '{"hashKey":"","rangeKey":"","data":,"ttl":253402300799,"updatedAt":9007199254740991},'

/**
 * An upper bound of the record's bytes with its comma. A unit of a key takes at most six bytes (an escape), one of data three.
 */
const bytesAtMost = ({ hashKey, rangeKey, data }: StoredRecord): number =>
  longestFrame.length + 6 * (hashKey.length + rangeKey.length) + 3 * data.length

const headBytesAtMost = ({ hashKey, rangeKey }: RecordHead): number =>
  longestFrame.length + 6 * (hashKey.length + rangeKey.length)

/**
 * A lower bound of a record's bytes with its comma, without the UTF-8 bytes of its two keys and its data, which an engine
 * can sum up itself. One less than the shortest frame, because the range key `#` is not sent.
 */
export const recordFrameBytesMin = '{"hashKey":"","data":,"updatedAt":0},'.length - 1

/** The same for a record that is sent without its data. */
export const headFrameBytesMin = '{"hashKey":"","updatedAt":0},'.length - 1

/** Measures a page while it is filled: the bytes of `items` as sent, with brackets, keys and escapes. */
export class PageMeter {
  readonly #records: readonly StoredRecord[]
  readonly #withData: boolean
  #atMost = 1
  /** The bytes of the first `#counted` records, plus one bracket. The comma after the last record counts as the other. */
  #bytes = 1
  #counted = 0

  /**
   * `records` is the page. The caller adds each accepted record to it before it asks about the next. `withData`: whether
   * their data is sent.
   */
  constructor(records: readonly StoredRecord[], withData = true) {
    this.#records = records
    this.#withData = withData
  }

  /** Tells whether the record still fits. The first record always fits, whatever its size. */
  takes(record: StoredRecord): boolean {
    // The upper bound is enough for nearly every page, and nothing is counted.
    this.#atMost += this.#withData ? bytesAtMost(record) : headBytesAtMost(record)
    if (this.#atMost <= pageBytesMax) return true
    this.#count()
    this.#bytes += this.#bytesOf(record) + 1
    this.#counted++
    return this.#bytes <= pageBytesMax || this.#records.length === 0
  }

  /** The bytes left, including the commas of further records. Negative if the first record was too large. */
  bytesLeft(): number {
    this.#count()
    return pageBytesMax - this.#bytes
  }

  #count(): void {
    for (; this.#counted < this.#records.length; this.#counted++)
      this.#bytes += this.#bytesOf(this.#records[this.#counted]!) + 1
  }

  #bytesOf(record: StoredRecord): number {
    return this.#withData ? bytesOf(record) : Buffer.byteLength(headJson(record))
  }
}
