import { toolAnswerBytesMax } from '../../core/limits.ts'
import { headJson, recordJson } from '../../core/records/record-json.ts'
import type { RecordHead, StoredRecord } from '../../core/records/stored-record.ts'

// The answer of a tool goes into the context of a model, so it is small. What does not fit is left for the next call.

/** Brackets, names, counts and a cursor around the items. A cursor has at most 2,400 characters. */
const frameBytes = 4_000

/** For the items of an answer. */
export const itemsBytesMax = toolAnswerBytesMax - frameBytes

/** A record that no answer has room for: without its data, and with the number of bytes of the data. */
const recordWithoutData = (record: StoredRecord): string =>
  `${headJson(record).slice(0, -1)},"dataBytes":${Buffer.byteLength(record.data)}}`

/** A record as it is sent. One that does not fit into any answer comes without its data. */
export const fittingRecord = (record: StoredRecord | RecordHead): string => {
  if (!('data' in record)) return headJson(record)
  const text = recordJson(record)
  // A unit of UTF-16 takes at most three bytes.
  if (text.length * 3 <= itemsBytesMax || Buffer.byteLength(text) <= itemsBytesMax) return text
  return recordWithoutData(record)
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
