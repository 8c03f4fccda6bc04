import { refusal } from '../transport/errors.ts'
import type { RecordKey } from '../transport/wire.ts'

/** A record's address: its hash key alone, or both keys. A record that was read can be passed as its own key. */
export type Key = string | RecordKey

export const checkPart = (part: unknown, field: string): void => {
  // A proxy or URL parser drops an empty part or a dot from the path. The DELETE of a record would then be the DELETE
  // of its table.
  if (typeof part !== 'string' || part === '') throw refusal('invalid_key', field, 'takes a string that is not empty.')
  if (part === '.' || part === '..') {
    throw refusal('invalid_key', field, `is "${part}", which URL parsers drop from paths.`, 'Use another key.')
  }
}

export const checkKey = (key: RecordKey, prefix = ''): void => {
  checkPart(key.hashKey, `${prefix}hashKey`)
  if (key.rangeKey !== undefined) checkPart(key.rangeKey, `${prefix}rangeKey`)
}

export const parseKey = (key: Key, prefix = ''): RecordKey => {
  const { hashKey, rangeKey } = typeof key === 'string' ? { hashKey: key } : (key ?? {})
  const parsed = rangeKey === undefined ? { hashKey } : { hashKey, rangeKey }
  checkKey(parsed, prefix)
  return parsed
}

/** Matches characters that are not safe in a path: proxies decode `%2F`, `%5C` and `%00`, or reject them. */
const hasPathUnsafe = /[/\\\0]/

/** `/hashKey` or `/hashKey/rangeKey`, encoded; undefined for a key that must not go into a path. */
export const keyPath = ({ hashKey, rangeKey }: RecordKey): string | undefined => {
  const parts = rangeKey === undefined ? [hashKey] : [hashKey, rangeKey]
  if (parts.some((part) => hasPathUnsafe.test(part))) return undefined
  return encodePath(parts, 'hashKey or rangeKey')
}

/** `/part/part`. */
export const encodePath = (parts: string[], field: string): string => {
  try {
    return `/${parts.map(encodeURIComponent).join('/')}`
  } catch {
    throw refusal('invalid_key', field, 'has a lone surrogate; it takes well-formed Unicode.')
  }
}

/** A record without a range key is stored under the range key `#`. */
export const noRangeKey = '#'
