import { dataBytesMax } from '../../../../server/src/core/limits.ts'
import { checkJson, recordBytes } from '../../text/check.ts'
import { nameFault } from '../../text/names.ts'
import { decodeString, type Member, membersOf } from '../../text/scan.ts'
import { keyFault } from '../record/record-key.ts'

// The lines that `cubby import` takes: a table's declaration or a record. The text of a record's members is kept as it is.

interface Addressed {
  db?: string
  table?: string
}

export interface RecordLine extends Addressed {
  kind: 'record'
  hashKey: string
  /** `#` if there is none. */
  rangeKey: string
  data: string
  ttlSeconds?: number
  /** The operation of a batch that puts it. */
  operation: string
}

export type Line = RecordLine | (Addressed & { kind: 'table'; indices: string })

/** The text of `data` is kept as it is. */
export const putOperation = ({
  hashKey,
  rangeKey,
  data,
  ttlSeconds,
}: Omit<RecordLine, 'kind' | 'operation'>): string => {
  const range = rangeKey === '#' ? '' : `,"rangeKey":${JSON.stringify(rangeKey)}`
  const ttl = ttlSeconds === undefined ? '' : `,"ttl":${ttlSeconds}`
  return `{"op":"put","hashKey":${JSON.stringify(hashKey)}${range},"data":${data}${ttl}}`
}

/** The reason why a line is not imported. */
export class LineFault extends Error {}

const recordMembers = ['db', 'table', 'hashKey', 'rangeKey', 'data', 'ttl', 'updatedAt']
const tableMembers = ['db', 'table', 'indices']

type Members = ReadonlyMap<string, Member>

const readMembers = (text: string): Members => {
  const checked = checkJson(text)
  if (!checked.ok) throw new LineFault(`the line is not JSON: ${withoutPlace(checked.message, checked.column)}.`)
  if (!text.trimStart().startsWith('{')) throw new LineFault('the line is not a JSON object.')
  const members = new Map<string, Member>()
  for (const member of membersOf(text)) {
    if (members.has(member.name)) throw new LineFault(`${member.name} stands twice in the line.`)
    members.set(member.name, member)
  }
  return members
}

/** Every line is line 1 of its own text. */
export const withoutPlace = (message: string, column?: number): string =>
  message.replace(/^line \d+, column \d+: /, column === undefined ? '' : `column ${column}: `)

const refuseUnknown = (members: Members, known: string[]): void => {
  for (const name of members.keys()) {
    if (known.includes(name)) continue
    throw new LineFault(`${JSON.stringify(name.slice(0, 80))} is not a member of such a line: ${known.join(', ')}.`)
  }
}

const stringOf = (text: string, members: Members, name: string): string | undefined => {
  const member = members.get(name)
  if (member === undefined) return undefined
  if (text[member.start] !== '"') throw new LineFault(`${name} is not a string.`)
  return decodeString(text, member.start, member.end)
}

const nameOf = (text: string, members: Members, name: string): string | undefined => {
  const value = stringOf(text, members, name)
  const fault = value === undefined ? undefined : nameFault(value, name)
  if (fault !== undefined) throw new LineFault(fault)
  return value
}

const keyOf = (text: string, members: Members, name: string): string | undefined => {
  const value = stringOf(text, members, name)
  const fault = value === undefined ? undefined : keyFault(value, name)
  if (fault !== undefined) throw new LineFault(fault)
  return value
}

const dataOf = (text: string, members: Members): string => {
  const member = members.get('data')
  if (member === undefined) {
    throw new LineFault('data is missing; it takes a JSON object. Put the record under "data".')
  }
  const data = text.slice(member.start, member.end)
  if (!data.startsWith('{')) throw new LineFault('data is not a JSON object.')
  const bytes = recordBytes(data)
  if (bytes > dataBytesMax) throw new LineFault(`data has ${bytes} bytes of JSON; it takes at most ${dataBytesMax}.`)
  return data
}

const integerOf = (text: string, members: Members, name: string): number | undefined => {
  const member = members.get(name)
  if (member === undefined) return undefined
  const value = Number(text.slice(member.start, member.end))
  if (/^[-\d]/.test(text[member.start]!) && Number.isSafeInteger(value) && value >= 0) return value
  throw new LineFault(`${name} is not a whole number of 0 or more.`)
}

/** Throws a LineFault. The result is undefined for an empty line. */
export const parseLine = (text: string): Line | undefined => {
  if (text.trim() === '') return undefined
  const members = readMembers(text)
  const db = nameOf(text, members, 'db')
  const table = nameOf(text, members, 'table')
  const indices = members.get('indices')
  if (indices !== undefined && !members.has('hashKey')) {
    refuseUnknown(members, tableMembers)
    return { kind: 'table', db, table, indices: text.slice(indices.start, indices.end) }
  }
  refuseUnknown(members, recordMembers)
  const hashKey = keyOf(text, members, 'hashKey')
  if (hashKey === undefined) throw new LineFault('hashKey is missing; it takes a string.')
  const rangeKey = keyOf(text, members, 'rangeKey') ?? '#'
  const data = dataOf(text, members)
  const ttlSeconds = integerOf(text, members, 'ttl')
  integerOf(text, members, 'updatedAt')
  const operation = putOperation({ hashKey, rangeKey, data, ttlSeconds })
  return { kind: 'record', db, table, hashKey, rangeKey, data, ttlSeconds, operation }
}
