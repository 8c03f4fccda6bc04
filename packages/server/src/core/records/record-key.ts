import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { keyBytesMax } from '../limits.ts'

/** The stored range key of records without one: `rangeKey: "#"` and no range key address the same record. */
export const noRangeKey = '#'

export interface RecordKey {
  hashKey: string
  /** Never undefined; `#` for a record without a range key. */
  rangeKey: string
}

const encoder = new TextEncoder()

export const utf8Bytes = (text: string): Uint8Array => encoder.encode(text)

/** One part of a record key. It may contain any character, including NUL and `/`. */
export const parseKeyPart = (value: unknown, field: string): string => {
  if (typeof value !== 'string') {
    throw new CubbyError('invalid_key', `${field} is ${describeValue(value)}; it takes a string.`, {
      field,
      hint: `Give ${field} as a string of 1 to ${keyBytesMax} bytes${typeof value === 'number' ? `: "${value}"` : ''}.`,
    })
  }
  if (value.length === 0) {
    throw new CubbyError('invalid_key', `${field} is empty; it takes 1 to ${keyBytesMax} bytes of UTF-8.`, {
      field,
      hint: field.endsWith('rangeKey') ? 'Leave rangeKey out for a record without one.' : undefined,
    })
  }
  if (!value.isWellFormed()) {
    throw new CubbyError('invalid_key', `${field} has a lone surrogate; it takes well-formed Unicode.`, { field })
  }
  // A UTF-16 unit is at most three bytes, so only long keys need counting.
  if (value.length * 3 > keyBytesMax) {
    const bytes = Buffer.byteLength(value)
    if (bytes > keyBytesMax) {
      throw new CubbyError('invalid_key', `${field} has ${bytes} bytes; it takes at most ${keyBytesMax}.`, {
        field,
        hint: 'Shorten the key, or use a hash of it and keep the long form in data.',
      })
    }
  }
  if (value === '.' || value === '..') {
    throw new CubbyError('invalid_key', `${field} is "${value}", which URL parsers drop from paths.`, {
      field,
      hint: 'Use another key; only "." and ".." are not allowed.',
    })
  }
  return value
}

export const parseRecordKey = (hashKey: unknown, rangeKey: unknown, prefix = ''): RecordKey => ({
  hashKey: parseKeyPart(hashKey, `${prefix}hashKey`),
  rangeKey: rangeKey === undefined ? noRangeKey : parseKeyPart(rangeKey, `${prefix}rangeKey`),
})
