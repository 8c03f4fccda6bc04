import { pageBytesMax } from '../limits.ts'
import { noRangeKey } from './record-key.ts'
import type { StoredRecord } from './stored-record.ts'

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

/** A page of records as it is sent. */
export const pageJson = (records: StoredRecord[], cursor: string | null): string => {
  let items = ''
  for (let i = 0; i < records.length; i++) items += `${i === 0 ? '' : ','}${recordJson(records[i]!)}`
  return `{"items":[${items}],"count":${records.length},"cursor":${JSON.stringify(cursor)}}`
}

const bytesOf = (record: StoredRecord): number =>
  Buffer.byteLength(recordJson({ ...record, data: '' })) + Buffer.byteLength(record.data)

export const longestFrame = '{"hashKey":"","rangeKey":"","data":,"ttl":253402300799,"updatedAt":9007199254740991},'

/** An upper bound of the record's bytes with its comma. A unit of a key takes at most six bytes (an escape), one of data three. */
const bytesAtMost = ({ hashKey, rangeKey, data }: StoredRecord): number =>
  longestFrame.length + 6 * (hashKey.length + rangeKey.length) + 3 * data.length

/**
 * A lower bound of a record's bytes with its comma, without the UTF-8 bytes of its two keys and its data, which an engine
 * can sum up itself. One less than the shortest frame, because the range key `#` is not sent.
 */
export const recordFrameBytesMin = '{"hashKey":"","data":,"updatedAt":0},'.length - 1

/** Measures a page while it is filled: the bytes of `items` as sent, with brackets, keys and escapes. */
export class PageMeter {
  readonly #records: readonly StoredRecord[]
  #atMost = 1
  /** The bytes of the first `#counted` records, plus one bracket. The comma after the last record counts as the other. */
  #bytes = 1
  #counted = 0

  /** `records` is the page. The caller adds each accepted record to it before it asks about the next. */
  constructor(records: readonly StoredRecord[]) {
    this.#records = records
  }

  /** Whether the record still fits. The first record always fits, whatever its size. */
  takes(record: StoredRecord): boolean {
    // For nearly every page the upper bound is enough, and nothing is counted.
    this.#atMost += bytesAtMost(record)
    if (this.#atMost <= pageBytesMax) return true
    this.#count()
    this.#bytes += bytesOf(record) + 1
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
      this.#bytes += bytesOf(this.#records[this.#counted]!) + 1
  }
}
