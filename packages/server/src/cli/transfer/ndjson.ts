import { parseNewChanges } from '../../core/changes/keep-hours.ts'
import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { ttlSecondsMax } from '../../core/limits.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parseRecordToPut, type RecordToPut } from '../../core/records/record-data.ts'
import { runThrough } from '../../core/slices.ts'
import { type Indices, parseIndices } from '../../core/tables/indices.ts'
import { checkJson } from '../../core/text/json-scan.ts'
import { outline, readEnvelope, valueSpan } from '../../core/text/json-span.ts'

// The format of export and import: one JSON object per line. A table's declaration,
//   {"db":"app","table":"orders","indices":{"i1":{"hashField":"status"}},"changes":{"keepHours":24}}
// then its records,
//   {"db":"app","table":"orders","hashKey":"o-1","rangeKey":"…","data":{…},"ttl":…,"updatedAt":…}

/** Removes the white space outside strings and changes nothing else. `text` must be JSON: nothing is checked. */
export const minifyJson = (text: string): string => {
  let out = ''
  let from = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = valueSpan(text, at).end
    else if (code <= 0x20) {
      out += text.slice(from, at)
      from = ++at
    } else at++
  }
  return from === 0 ? text : out + text.slice(from)
}

/** How a table keeps its changes, in its line. Absent: it keeps none. */
export interface LineChanges {
  keepHours: number
}

export const tableLine = (db: string, table: string, indices: Indices, changes?: LineChanges): string =>
  `${JSON.stringify({ db, table, indices, changes })}\n`

/** The members of a record as JSON texts. */
export interface RecordTexts {
  hashKey: string
  rangeKey: string | undefined
  data: string
  ttl: string | number | undefined
  updatedAt: string | number
}

/** Writes the lines of one table's records. */
export const recordLines = (db: string, table: string): ((record: RecordTexts) => string) => {
  const start = `{"db":${JSON.stringify(db)},"table":${JSON.stringify(table)},"hashKey":`
  return ({ hashKey, rangeKey, data, ttl, updatedAt }) => {
    const range = rangeKey === undefined ? '' : `,"rangeKey":${rangeKey}`
    const expiry = ttl === undefined ? '' : `,"ttl":${ttl}`
    return `${start}${hashKey}${range},"data":${minifyJson(data)}${expiry},"updatedAt":${updatedAt}}\n`
  }
}

/** A member is undefined if the line does not name it. */
interface Addressed {
  db: string | undefined
  table: string | undefined
}

export type Line =
  | (Addressed & { kind: 'table'; indices: Indices; keepHours: number | undefined })
  | (Addressed & { kind: 'record'; record: RecordToPut; updatedAtMs: number | undefined })

const addressFields = ['db', 'table'] as const

/** Throws CubbyError. The rules are those of a put over HTTP, except that the ttl may have passed. */
export const parseLine = (text: string): Line => {
  checkJson(text, 'the line')
  const { value, data } = runThrough(readEnvelope(text, 0, ''))
  const members = parseObject(value, 'the line')
  const db = members.db === undefined ? undefined : parseName(members.db, 'db')
  const table = members.table === undefined ? undefined : parseName(members.table, 'table')
  if (Object.hasOwn(members, 'indices') && !Object.hasOwn(members, 'hashKey')) {
    refuseUnknownMembers(members, [...addressFields, 'indices', 'changes'])
    const { indices, changes } = outline(text) as Members
    return { kind: 'table', db, table, indices: parseIndices(indices), keepHours: parseNewChanges(changes) }
  }
  const record = parseRecordToPut(members, text, data, undefined, '', [...addressFields, 'updatedAt'])
  return { kind: 'record', db, table, record, updatedAtMs: parseUpdatedAt(members.updatedAt) }
}

const updatedAtMax = ttlSecondsMax * 1000

const parseUpdatedAt = (value: unknown): number | undefined => {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= updatedAtMax) return value
  throw new CubbyError(
    'invalid_request',
    `updatedAt is ${describeValue(value)}; it takes epoch milliseconds, an integer from 0 to ${updatedAtMax}.`,
    { field: 'updatedAt', hint: 'Leave it out: the record then counts as written now.' },
  )
}
