import { refusal } from '../transport/errors.ts'
import type { RecordKey } from '../transport/wire.ts'

/** A record's address: its hash key alone, or both keys. A record is one too. */
export type Key = string | RecordKey

const checkPart = (part: unknown, field: string): void => {
  // An empty part, like a dot, makes a path that a proxy or URL parser shortens: to remove a record would become to
  // drop its table.
  if (typeof part !== 'string' || part === '') throw refusal('invalid_key', field, 'takes a string that is not empty.')
  if (part === '.' || part === '..') {
    throw refusal('invalid_key', field, `is "${part}", which URL parsers drop from paths.`, 'Use another key.')
  }
}

export const checkKey = (key: RecordKey, prefix = ''): void => {
  checkPart(key.hashKey, `${prefix}hashKey`)
  if (key.rangeKey !== undefined) checkPart(key.rangeKey, `${prefix}rangeKey`)
}

export const parseKey = (key: Key): RecordKey => {
  const { hashKey, rangeKey } = typeof key === 'string' ? { hashKey: key } : (key ?? {})
  const parsed = rangeKey === undefined ? { hashKey } : { hashKey, rangeKey }
  checkKey(parsed)
  return parsed
}

/** Of this form a path cannot name it safely: proxies decode `%2F`, `%5C` and `%00`, or refuse them. */
const hasPathUnsafe = /[/\\\0]/

/** `/hashKey` or `/hashKey/rangeKey`, encoded; undefined for a key that must not go into a path. */
export const keyPath = ({ hashKey, rangeKey }: RecordKey): string | undefined => {
  const parts = rangeKey === undefined ? [hashKey] : [hashKey, rangeKey]
  if (parts.some((part) => hasPathUnsafe.test(part))) return undefined
  try {
    return `/${parts.map(encodeURIComponent).join('/')}`
  } catch {
    throw refusal('invalid_key', 'hashKey or rangeKey', 'has a lone surrogate; it takes well-formed Unicode.')
  }
}

/** No range key is the slot `#`. */
export const noRangeKey = '#'

const namePattern = /^[a-z0-9_-]{1,64}$/

/** What is not a name must not go into a path either. */
export const checkName = (name: string, field: string): string => {
  if (!namePattern.test(name)) throw refusal('invalid_name', field, `is "${name}"; it takes [a-z0-9_-]{1,64}.`)
  return name
}
