import { pageBytesMax } from '../limits.ts'
import { noRangeKey } from './record-key.ts'
import type { StoredRecord } from './stored-record.ts'

const needsNoEscape = /^[ !#-[\]-~]*$/

/** As JSON.stringify; nearly every key is plain ASCII, and seeing that costs half as much. */
const quote = (text: string): string => (needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text))

/** A record as it stands in an answer. `data` is spliced in as it is stored: never parsed, never stringified. */
export const recordJson = (record: StoredRecord, version = String(record.updatedAtMs)): string => {
  const { hashKey, rangeKey, data, ttlSeconds } = record
  const range = rangeKey === noRangeKey ? '' : `,"rangeKey":${quote(rangeKey)}`
  const ttl = ttlSeconds === null ? '' : `,"ttl":${ttlSeconds}`
  return `{"hashKey":${quote(hashKey)}${range},"data":${data}${ttl},"updatedAt":${version}}`
}

/** A page of records as it stands in an answer. */
export const pageJson = (records: StoredRecord[], cursor: string | null): string => {
  let items = ''
  for (let i = 0; i < records.length; i++) items += `${i === 0 ? '' : ','}${recordJson(records[i]!)}`
  return `{"items":[${items}],"count":${records.length},"cursor":${JSON.stringify(cursor)}}`
}

const bytesOf = (record: StoredRecord): number =>
  Buffer.byteLength(recordJson({ ...record, data: '' })) + Buffer.byteLength(record.data)

const longestFrame = '{"hashKey":"","rangeKey":"","data":,"ttl":253402300799,"updatedAt":9007199254740991},'

/** Never fewer bytes than the record takes with its comma. A unit of a key is an escape of six bytes at the most, one of data three bytes. */
const bytesAtMost = ({ hashKey, rangeKey, data }: StoredRecord): number =>
  longestFrame.length + 6 * (hashKey.length + rangeKey.length) + 3 * data.length

/**
 * Never more bytes than a record takes with its comma, beside the UTF-8 bytes of its two keys and its data: what an engine
 * may add up for itself. One less than the shortest frame, as the range key `#` is not shown.
 */
export const recordFrameBytesMin = '{"hashKey":"","data":,"updatedAt":0},'.length - 1

/** Measures a page while it is filled: the text of `items` as it is sent, brackets, keys and escapes included. */
export class PageMeter {
  readonly #records: readonly StoredRecord[]
  #atMost = 1
  /** The bytes of the first `#counted` records. Of the two brackets one: each record has a comma, the last a bracket. */
  #bytes = 1
  #counted = 0

  /** `records` is the page; a record that it takes is added to them before the next is asked about. */
  constructor(records: readonly StoredRecord[]) {
    this.#records = records
  }

  /** Whether the record still fits. However large the first is, a page has it. */
  takes(record: StoredRecord): boolean {
    // The bytes of nearly every page need no counting.
    this.#atMost += bytesAtMost(record)
    if (this.#atMost <= pageBytesMax) return true
    this.#count()
    this.#bytes += bytesOf(record) + 1
    this.#counted++
    return this.#bytes <= pageBytesMax || this.#records.length === 0
  }

  /** What there is room for, the commas of further records included. Less than nothing if the first was too large. */
  bytesLeft(): number {
    this.#count()
    return pageBytesMax - this.#bytes
  }

  #count(): void {
    for (; this.#counted < this.#records.length; this.#counted++)
      this.#bytes += bytesOf(this.#records[this.#counted]!) + 1
  }
}
