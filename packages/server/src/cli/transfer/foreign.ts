import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { parseObject } from '../../core/members.ts'
import { parseRecordToPut } from '../../core/records/record-data.ts'
import { parseKeyPart } from '../../core/records/record-key.ts'
import { checkJson, skipSpace } from '../../core/text/json-scan.ts'
import { ObjectWalk, valueSpan } from '../../core/text/json-span.ts'
import type { Line } from './ndjson.ts'

// Lines of other programs: each is a JSON object that becomes the `data` of a record, and two of its members are the keys.

export interface KeyFields {
  hashKey: string
  /** undefined: the records have no range key. */
  rangeKey: string | undefined
}

/** Throws CubbyError. `data` is the text of the object as it is; the key fields stay in it. */
export const parseForeignLine = (text: string, { hashKey, rangeKey }: KeyFields): Line => {
  checkJson(text, 'the line')
  const start = skipSpace(text, 0)
  if (text[start] !== '{') parseObject(text[start] === '[' ? [] : JSON.parse(text), 'the line')
  const spans = findMembers(text, start, [hashKey, rangeKey])
  if (!spans.has(hashKey) && isTableLine(text, start)) {
    throw new CubbyError(
      'invalid_request',
      'the line declares a table, as the lines of an export do. Import an export without --hash-key.',
    )
  }
  const key = {
    hashKey: keyText(spans.get(hashKey), hashKey, 'the hash key (--hash-key)'),
    rangeKey:
      rangeKey === undefined ? undefined : keyText(spans.get(rangeKey), rangeKey, 'the range key (--range-key)'),
  }
  const record = parseRecordToPut({ ...key, data: {} }, text, valueSpan(text, start), undefined)
  return { kind: 'record', db: undefined, table: undefined, record, updatedAtMs: undefined }
}

/** An export begins with one. Its records would go in with their keys and times as data, and nobody would notice. */
const isTableLine = (text: string, start: number): boolean => {
  const names = ['db', 'table', 'indices']
  return findMembers(text, start, names).size === names.length
}

/** The texts of the values of these members. */
const findMembers = (text: string, start: number, names: (string | undefined)[]): Map<string, string> => {
  const found = new Map<string, string>()
  const walk = new ObjectWalk(text, start, undefined)
  while (walk.next()) {
    const span = valueSpan(text, walk.at)
    if (names.includes(walk.name)) {
      if (found.has(walk.name)) {
        // The last one would count in data, but here it decides which record is overwritten.
        throw new CubbyError('invalid_key', `${shown(walk.name)} appears twice in the line; it is a key of the record.`)
      }
      found.set(walk.name, text.slice(span.start, span.end))
    }
    walk.at = span.end
  }
  return found
}

const shown = (field: string): string => (field.length > 80 ? `${field.slice(0, 80)}…` : field)

/** A number is used as it is written: 1, 1.0 and 1e0 are three keys. */
const keyText = (text: string | undefined, field: string, role: string): string => {
  if (text === undefined) {
    throw new CubbyError('invalid_key', `${shown(field)} is missing or empty; it is ${role} of the record.`)
  }
  const first = text[0]!
  if (first === '"') return parseKeyPart(JSON.parse(text), shown(field))
  if (first === '-' || (first >= '0' && first <= '9')) return parseKeyPart(text, shown(field))
  const value = first === '{' ? {} : first === '[' ? [] : JSON.parse(text)
  const takes = `as ${role} it takes a string or a number`
  throw new CubbyError('invalid_key', `${shown(field)} is ${describeValue(value)}; ${takes}.`)
}
