import { decodeScanCursor, scanFingerprint } from '../cursor.ts'
import type { CursorSeal } from '../cursor-seal.ts'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { countRowsMax, fileNameBytesMax, pageRowsDefault, pageRowsMax, urlSecondsMax } from '../limits.ts'
import { type Members, parseLimit, refuseUnknownMembers } from '../members.ts'
import type { QueryPlan } from '../records/query.ts'
import { indexBounds, primaryBounds, type RangeCondition, timeBounds } from '../records/range.ts'
import { type Position, resumeScan, type Scan, skipFolder } from '../records/scan.ts'
import { readScalar, type Scalar, words } from '../scalar.ts'
import { fileHashKey, fileSlots, nameRange, publicHash } from './file-record.ts'

/** A query of a bucket's files with well-formed fields. */
export interface FileQuery {
  byTime: boolean
  prefix: string
  /** Names with a `/` behind `prefix` are listed as folders. */
  folders: boolean
  select: 'data' | 'count'
  limit: number
  ascending: boolean
  cursor: unknown
  /** Private files get signed URLs that are valid for so many seconds. */
  expiresInSeconds: number | undefined
}

const fileQueryFields = ['prefix', 'folders', 'index', 'select', 'limit', 'ascending', 'cursor', 'expiresIn'] as const

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

/** `expiresIn` of a signed URL. */
export const expiresInRule = {
  type: 'integer',
  minimum: 1,
  maximum: urlSecondsMax,
  [words]: { unit: 'seconds' },
} as const satisfies Scalar

export const fileQueryRules = {
  index: { type: 'string', enum: ['t'], [words]: { hint: 'Leave index out to list files by name.' } },
  ascending: { type: 'boolean' },
  folders: { type: 'boolean' },
  select: { type: 'string', enum: ['data', 'count'], [words]: { hint: 'Leave select out to get the files.' } },
} as const satisfies Record<string, Scalar>

/** A count would have to pass each folder on its own, up to 10,000 of them. */
const parseFolders = (value: unknown, byTime: boolean, select: FileQuery['select']): boolean => {
  const folders = readScalar(fileQueryRules.folders, value, 'folders') ?? false
  if (folders && byTime) return refuse('folders', 'needs a query by name.', 'Leave folders or index out.')
  if (folders && select === 'count') return refuse('folders', 'cannot be counted.', 'Leave folders or select out.')
  return folders
}

export const parseFileQuery = (members: Members): FileQuery => {
  refuseUnknownMembers(members, fileQueryFields)
  const { index, ascending, select, limit, cursor } = members
  readScalar(fileQueryRules.index, index, 'index')
  const byTime = index === 't'
  const isAscending = readScalar(fileQueryRules.ascending, ascending, 'ascending') ?? !byTime
  const selected = readScalar(fileQueryRules.select, select, 'select') ?? 'data'
  return {
    byTime,
    prefix: parsePrefix(members.prefix, byTime),
    folders: parseFolders(members.folders, byTime, selected),
    select: selected,
    limit:
      selected === 'count'
        ? parseLimit(limit, countRowsMax, countRowsMax)
        : parseLimit(limit, pageRowsDefault, pageRowsMax),
    ascending: isAscending,
    cursor: cursor ?? undefined,
    expiresInSeconds: readScalar(expiresInRule, members.expiresIn, 'expiresIn'),
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
  const fingerprint = query.folders ? `${scanFingerprint(bucketId, whole)}/` : undefined
  if (query.cursor === undefined) return { whole, page: whole, fingerprint }
  const own = fingerprint ?? scanFingerprint(bucketId, whole)
  const position = decodeScanCursor(seal, query.cursor, bucketId, whole, own, 'bucket, prefix, folders and direction')
  return { whole, page: resumeFiles(whole, position), fingerprint: own }
}

// ── Folders ────────────────────────────────────────────────────────────────────────────────────────────────

/** The part of a name up to the first `/` behind the prefix; undefined if there is none. */
export const folderOf = (name: string, prefix: string): string | undefined => {
  const slash = name.indexOf('/', prefix.length)
  return slash < 0 ? undefined : name.slice(0, slash + 1)
}

/**
 * The position after this file or folder. No two files have one name, so the id only says on which side of it a scan goes on.
 */
export const positionAfter = (scan: Scan, nameOrFolder: string): Position => ({
  range: scan.index === 'primary' ? nameOrFolder : nameRange(nameOrFolder),
  id: scan.descending ? 0 : Number.MAX_SAFE_INTEGER,
})

/** Resumes like `resumeScan`. A position that ends with `/` is a folder, since no name does: its files are passed. */
export const resumeFiles = (scan: Scan, position: Position): Scan =>
  typeof position.range === 'string' && position.range.endsWith('/')
    ? skipFolder(scan, position.range)
    : resumeScan(scan, position)
