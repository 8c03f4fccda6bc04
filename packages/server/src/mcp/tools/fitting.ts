import { CubbyError } from '../../core/errors.ts'
import { toolResponseBytesMax } from '../../core/limits.ts'
import { shownKey } from '../../core/records/find.ts'
import { headJson, recordJson } from '../../core/records/record-json.ts'
import type { RecordKey } from '../../core/records/record-key.ts'
import type { StoredRecord } from '../../core/records/stored-record.ts'

// The answer of a tool goes into the context of a model, so it is small. What does not fit is left for the next call.

/** Brackets, names, counts and a cursor around the items. A cursor has at most 2,400 characters. */
const frameBytes = 4_000

/** The limit for the items of a response. */
export const itemsBytesMax = toolResponseBytesMax - frameBytes

/** A record that no answer has room for: without its data, and with the number of bytes of the data. */
const recordWithoutData = (record: StoredRecord): string =>
  `${headJson(record).slice(0, -1)},"dataBytes":${Buffer.byteLength(record.data)}}`

/** A record as it is sent. One that does not fit into any answer comes without its data. */
export const fittingRecord = (record: StoredRecord, bytesMax = itemsBytesMax): string => {
  const text = recordJson(record)
  // A unit of UTF-16 takes at most three bytes.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text
  return recordWithoutData(record)
}

export const keysJson = (keys: readonly RecordKey[]): string =>
  keys.length === 0 ? '[]' : JSON.stringify(keys.map(shownKey))

/** More than the keys take as JSON, with an updatedAt beside each. */
export const keysBytesAtMost = (keys: readonly RecordKey[]): number => {
  let units = 0
  for (const { hashKey, rangeKey } of keys) units += hashKey.length + rangeKey.length
  return 6 * units + 80 * keys.length
}

/** A byte of a key takes up to six in JSON, so 25 long keys can take more than an answer holds. */
const keysBytesMax = 20_000

/**
 * The bytes of keys that the answer repeats. Refuses keys that leave no room in it: before anything is written, because
 * afterwards it is too late.
 */
export const refuseLongKeys = (keys: readonly RecordKey[], field: string): number => {
  // An updatedAt stands beside each key that was written.
  const bytes = Buffer.byteLength(keysJson(keys)) + keys.length * '"updatedAt":1767225600000,'.length
  if (bytes <= keysBytesMax) return bytes
  throw new CubbyError(
    'batch_too_large',
    `The keys of ${field} take ${bytes} bytes of JSON together; one call takes at most ${keysBytesMax}.`,
    { field, hint: `Send ${Math.max(1, Math.floor((keys.length * keysBytesMax) / (2 * bytes)))} at a time.` },
  )
}

/** The first of the texts that fit together with commas between them; at least one. */
export const takeFitting = (texts: Iterable<string>, bytesMax = itemsBytesMax): string[] => {
  const fitting: string[] = []
  let bytes = 0
  for (const text of texts) {
    bytes += Buffer.byteLength(text) + 1
    if (bytes > bytesMax && fitting.length > 0) return fitting
    fitting.push(text)
  }
  return fitting
}
