import { runIdCharactersMax } from '../../core/limits.ts'
import { parseName } from '../../core/names.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import { type Arguments, type Flag, givenAs, orUsageError, UsageError } from '../arguments.ts'

// The database, the table, the record and the run that a command names.

export const dbFlag: Flag = { type: 'string', value: 'NAME', help: 'the database' }
export const tableFlag: Flag = { type: 'string', value: 'NAME', help: 'the table' }

export const requireName = (args: Arguments, flag: 'db' | 'table'): string => {
  const name = optionalName(args, flag)
  if (name === undefined) throw new UsageError(`--${flag} NAME is missing`)
  return name
}

export const optionalName = (args: Arguments, flag: 'db' | 'table'): string | undefined => {
  const name = args.text(flag)
  return name === undefined ? undefined : checkName(name, givenAs(args, flag))
}

/** A name that breaks the rule is a mistake in the call, and must not become part of a path. */
export const checkName = (name: string, what: string): string => orUsageError(() => parseName(name, what))

/** A malformed id must not become part of a path. */
export const requireRunId = (id: string, what: string): string => {
  if (/^[A-Za-z0-9_-]+$/.test(id) && id.length <= runIdCharactersMax) return id
  throw new UsageError(`${what} is "${id}"; it takes 1 to ${runIdCharactersMax} letters, digits, _ and -`)
}

export const ifMatchFlag: Flag = {
  type: 'string',
  value: 'VERSION',
  help: 'only if its updatedAt is this; *: only if the record exists',
}

/** The record's `updatedAt` in digits, or `*`. */
export const parseIfMatch = (args: Arguments): string | undefined => {
  const text = args.text('if-match')
  if (text === undefined || text === '*' || /^[0-9]+$/.test(text)) return text
  throw new UsageError(`--if-match is "${text}"; it takes a record's updatedAt, or *`)
}

/** Makes a header of the result of `parseIfMatch`. */
export const ifMatchHeader = (version: string): Record<string, string> => ({
  'if-match': version === '*' ? '*' : `"${version}"`,
})

/** Reads the arguments HASHKEY [RANGEKEY]. */
export const requireRecordKey = ({ positionals: [hashKey, rangeKey] }: Arguments): RecordKey =>
  orUsageError(() => parseRecordKey(hashKey, rangeKey))
