import { dataBytesMax, keyBytesMax, pageBytesMax } from '../limits.ts'
import { longestFrame, PageMeter, recordJson } from './record-json.ts'
import { noRangeKey, type RecordKey } from './record-key.ts'
import type { StoredRecord } from './stored-record.ts'

// Every answer has at least one record or missing key, so that a caller who asks again for `unread` comes to an end. A byte
// of a key takes at most six as it is sent, an escape.
if (longestFrame.length + 6 * 2 * keyBytesMax + dataBytesMax + 1 > pageBytesMax) {
  throw new Error('a record may be too large for every answer')
}

/** Collects what a find has found, key by key in the order asked, until the records fill the answer. */
export class FoundRecords {
  /** One entry for each key so far. Undefined: there is no such record. */
  readonly entries: (StoredRecord | undefined)[] = []
  readonly #records: StoredRecord[] = []
  readonly #meter = new PageMeter(this.#records)

  /** Adds what was found for the next key. False if the record does not fit: it is not added, and the find ends here. */
  add(record: StoredRecord | undefined): boolean {
    if (record !== undefined) {
      if (!this.#meter.takes(record)) return false
      this.#records.push(record)
    }
    this.entries.push(record)
    return true
  }
}

/** A key as it is sent. */
export const shownKey = ({ hashKey, rangeKey }: RecordKey) =>
  rangeKey === noRangeKey ? { hashKey } : { hashKey, rangeKey }

/** The answer to a find. `entries` has what was found for the first keys; there was no room for the others. */
export const findJson = (keys: readonly RecordKey[], entries: readonly (StoredRecord | undefined)[]): string => {
  let items = ''
  for (const record of entries) if (record !== undefined) items += `${items === '' ? '' : ','}${recordJson(record)}`
  const missing = keys.slice(0, entries.length).filter((_, i) => entries[i] === undefined)
  const unread = keys.slice(entries.length)
  const show = (some: RecordKey[]): string => JSON.stringify(some.map(shownKey))
  return `{"items":[${items}],"missing":${show(missing)},"unread":${show(unread)}}`
}
