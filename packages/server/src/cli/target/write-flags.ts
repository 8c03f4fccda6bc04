import { parseTtl } from '../../core/records/record-data.ts'
import { parseIsoDateTime } from '../../core/text/iso-date-time.ts'
import { type Arguments, type Flag, orUsageError, UsageError } from '../arguments.ts'
import { ifMatchHeader, parseIfMatch } from './address.ts'

// Flags that the commands that write a record share with those that write a file.

export const ttlFlag = (what: string): Flag => ({
  type: 'string',
  value: 'TIME',
  help: `when the ${what} expires: epoch seconds or an ISO-8601 date-time`,
})

export const ifAbsentFlag = (what: string): Flag => ({
  type: 'boolean',
  help: `only if there is no such ${what} yet`,
})

/** The headers for --if-match and --if-absent. */
export const parseConditions = (args: Arguments): Record<string, string> => {
  const ifMatch = parseIfMatch(args)
  if (ifMatch === undefined) return args.flag('if-absent') ? { 'if-none-match': '*' } : {}
  if (args.flag('if-absent')) throw new UsageError('--if-match and --if-absent cannot be combined')
  return ifMatchHeader(ifMatch)
}

/** Epoch seconds. */
export const parseTtlFlag = (args: Arguments, nowMs: number): number | undefined => {
  const text = args.text('ttl')
  if (text === undefined) return undefined
  const instant = parseIsoDateTime(text)
  const seconds = instant === undefined ? undefined : Math.ceil(instant / 1000)
  if (seconds !== undefined || /^[0-9]{1,15}$/.test(text)) {
    return orUsageError(() => parseTtl(seconds ?? Number(text), '--ttl', nowMs)) ?? undefined
  }
  throw new UsageError(`--ttl is "${text}"; it takes epoch seconds or an ISO-8601 date-time`)
}
