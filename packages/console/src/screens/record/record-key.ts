import { keyBytesMax } from '../../../../server/src/core/limits.ts'
export interface RecordKey {
  hashKey: string
  rangeKey?: string
}

/** Characters that a line of text cannot show: controls, line separators, changes of direction, halves of characters. */
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\p{Cs}]/gu

const escaped = (character: string): string => {
  const short = JSON.stringify(character)
  return short.length === 4 ? short.slice(1, 3) : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The text as a JSON string in which nothing is hidden. */
export const jsonKey = (key: string): string => JSON.stringify(key).replace(hidden, escaped)

/** The key as it is, or as a JSON string if it has characters that cannot be seen, such as a space at one of its ends. */
export const showKey = (key: string): string => (key.search(hidden) === -1 && key === key.trim() ? key : jsonKey(key))

/** True if an `<input>` can hold the key: it drops line breaks, and some characters could not be seen. */
export const fitsInput = (key: string): boolean => key.search(hidden) === -1

export const showRecordKey = ({ hashKey, rangeKey }: RecordKey): string =>
  rangeKey === undefined ? showKey(hashKey) : `${showKey(hashKey)} / ${showKey(rangeKey)}`

/** The reason why the server would not take the key. */
export const keyFault = (key: string, what: string): string | undefined => {
  if (key === '.' || key === '..') return `${what} is "${key}", which no address can name. Use another key.`
  if (!key.isWellFormed()) return `${what} has half of a character. Remove the lone surrogate.`
  const bytes = new TextEncoder().encode(key).length
  if (bytes < 1) return `${what} is empty; it takes 1 to 1,024 bytes.`
  if (bytes > keyBytesMax) return `${what} has ${bytes} bytes of UTF-8; it takes 1 to 1,024.`
  return undefined
}

/** The range key `#` and none are the same record. */
export const normalKey = ({ hashKey, rangeKey }: RecordKey): RecordKey =>
  rangeKey === undefined || rangeKey === '#' || rangeKey === '' ? { hashKey } : { hashKey, rangeKey }
