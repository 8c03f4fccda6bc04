import { decodeScanCursor, scanFingerprint } from '../cursor.ts'
import type { CursorSeal } from '../cursor-seal.ts'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { countRowsMax, fileNameBytesMax, pageRowsDefault, pageRowsMax, urlSecondsMax } from '../limits.ts'
import { type Members, parseLimit, refuseUnknownMembers } from '../members.ts'
import type { QueryPlan } from '../records/query.ts'
import { indexBounds, primaryBounds, type RangeCondition, timeBounds } from '../records/range.ts'
import { resumeScan, type Scan } from '../records/scan.ts'
import { fileHashKey, fileSlots, publicHash } from './file-record.ts'

export const fileSelections = ['data', 'count'] as const
type FileSelection = (typeof fileSelections)[number]

/** A query of a bucket's files with well-formed fields. */
export interface FileQuery {
  byTime: boolean
  prefix: string
  select: FileSelection
  limit: number
  ascending: boolean
  cursor: unknown
  /** Private files get signed URLs that are valid for so many seconds. */
  expiresInSeconds: number | undefined
}

const fileQueryFields = ['prefix', 'index', 'select', 'limit', 'ascending', 'cursor', 'expiresIn'] as const

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `${field} ${message}`, { field, hint })
}

const parsePrefix = (value: unknown, byTime: boolean): string => {
  if (value === undefined) return ''
  if (typeof value !== 'string') return refuse('prefix', `is ${describeValue(value)}; it takes a string.`)
  if (byTime) {
    return refuse(
      'prefix',
      'is not a field of a query by t, which covers the whole bucket.',
      'Leave prefix or index out.',
    )
  }
  if (!value.isWellFormed()) return refuse('prefix', 'has a lone surrogate; it takes well-formed Unicode.')
  const bytes = Buffer.byteLength(value)
  if (bytes > fileNameBytesMax) return refuse('prefix', `has ${bytes} bytes; it takes at most ${fileNameBytesMax}.`)
  return value
}

/** `expiresIn` of a signed URL, in seconds. */
export const parseExpiresIn = (value: unknown): number | undefined => {
  if (value === undefined) return undefined
  const isInRange = Number.isInteger(value) && (value as number) >= 1 && (value as number) <= urlSecondsMax
  if (isInRange) return value as number
  return refuse('expiresIn', `is ${describeValue(value)}; it takes seconds, an integer from 1 to ${urlSecondsMax}.`)
}

export const parseFileQuery = (members: Members): FileQuery => {
  refuseUnknownMembers(members, fileQueryFields)
  const { index, ascending, select = 'data', limit, cursor } = members
  if (index !== undefined && index !== 't') {
    refuse('index', `is ${describeValue(index)}; it takes "t".`, 'Leave index out to list files by name.')
  }
  const byTime = index === 't'
  if (ascending !== undefined && typeof ascending !== 'boolean') {
    refuse('ascending', `is ${describeValue(ascending)}; it takes true or false.`)
  }
  if (!fileSelections.includes(select as FileSelection)) {
    refuse('select', `is ${describeValue(select)}; it takes "data" or "count".`, 'Leave select out to get the files.')
  }
  return {
    byTime,
    prefix: parsePrefix(members.prefix, byTime),
    select: select as FileSelection,
    limit:
      select === 'count'
        ? parseLimit(limit, countRowsMax, countRowsMax)
        : parseLimit(limit, pageRowsDefault, pageRowsMax),
    ascending: (ascending as boolean | undefined) ?? !byTime,
    cursor: cursor ?? undefined,
    expiresInSeconds: parseExpiresIn(members.expiresIn),
  }
}

const wholeScan = ({ byTime, prefix, ascending }: FileQuery, isPublic: boolean): Scan => {
  const ids = { lowId: 0, highId: 0, descending: !ascending }
  const range: RangeCondition | undefined = prefix === '' ? undefined : { operator: 'beginsWith', operand: prefix }
  if (!isPublic) {
    return byTime
      ? { index: 't', ...timeBounds(undefined), ...ids }
      : { index: 'primary', hash: fileHashKey, ...primaryBounds(range), ...ids }
  }
  const index = byTime ? fileSlots.publicByTime : fileSlots.publicByName
  return { index, hash: publicHash, ...indexBounds(range), ...ids }
}

/** `isPublic`: only the public files, as if there were no others. */
export const planFileQuery = (query: FileQuery, isPublic: boolean, bucketId: number, seal: CursorSeal): QueryPlan => {
  const whole = wholeScan(query, isPublic)
  if (query.cursor === undefined) return { whole, page: whole, fingerprint: undefined }
  const fingerprint = scanFingerprint(bucketId, whole)
  const position = decodeScanCursor(seal, query.cursor, bucketId, whole, fingerprint)
  return { whole, page: resumeScan(whole, position), fingerprint }
}
