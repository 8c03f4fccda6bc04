import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import {
  claimRunsMax,
  leaseSecondsMax,
  retryAfterSecondsMax,
  runDelaySecondsMax,
  ttlSecondsMax,
  waitSecondsMax,
} from '../limits.ts'
import { parseIsoDateTime } from '../text/iso-date-time.ts'

// The numbers of requests about runs. Each parser returns undefined for an absent member.

interface Bounds {
  least: number
  most: number
  /** What it is: `seconds`. */
  unit?: string
  hint?: string
}

const parseInteger = (value: unknown, field: string, { least, most, unit, hint }: Bounds): number | undefined => {
  if (value === undefined) return undefined
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number
  const takes = `${unit === undefined ? '' : `${unit}, `}an integer from ${least} to ${most}`
  throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes ${takes}.`, { field, hint })
}

export const parseLeaseSeconds = (value: unknown): number | undefined =>
  parseInteger(value, 'leaseSeconds', {
    least: 1,
    most: leaseSecondsMax,
    unit: 'seconds',
    hint: 'Leave it out for the lease that the task declares. A long attempt extends its lease.',
  })

export const parseWaitSeconds = (value: unknown): number =>
  parseInteger(value, 'waitSeconds', {
    least: 0,
    most: waitSecondsMax,
    unit: 'seconds',
    hint: 'Ask again after each answer.',
  }) ?? 0

/** Unlike the limit of a page, one that is too large is an error: a claim has no cursor that tells of more. */
export const parseClaimLimit = (value: unknown): number =>
  parseInteger(value, 'limit', { least: 1, most: claimRunsMax, hint: `Claim ${claimRunsMax} at a time.` }) ?? 1

export const parseDelaySeconds = (value: unknown, field: string): number | undefined =>
  parseInteger(value, field, {
    least: 0,
    most: runDelaySecondsMax,
    unit: 'seconds',
    hint: 'For a later time give runAt.',
  })

/** A number above the limit is taken as the limit. */
export const parseRetryAfter = (value: unknown, field: string): number | undefined => {
  if (value === undefined) return undefined
  // An integer of more than 308 digits is read as infinity.
  const isCount = typeof value === 'number' && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)
  if (isCount && value >= 0) return Math.min(value, retryAfterSecondsMax)
  throw new CubbyError(
    'invalid_request',
    `${field} is ${describeValue(value)}; it takes seconds, an integer of at least 0.`,
    { field, hint: 'Leave it out for the backoff that the task declares.' },
  )
}

/** The first and the last millisecond of the years that an ISO date-time can name. */
export const runAtMsMin = Date.parse('0000-01-01T00:00:00Z')
export const runAtMsMax = ttlSecondsMax * 1000 + 999

export const parseRunAt = (value: unknown, field: string): number | undefined => {
  if (value === undefined) return undefined
  const runAtMs = typeof value === 'string' ? parseIsoDateTime(value) : value
  if (Number.isInteger(runAtMs) && (runAtMs as number) >= runAtMsMin && (runAtMs as number) <= runAtMsMax) {
    return runAtMs as number
  }
  throw new CubbyError(
    'invalid_request',
    `${field} is ${describeValue(value)}; it takes epoch milliseconds or an ISO-8601 date-time up to the year 9999.`,
    { field, hint: 'Write it as 1767225600000 or "2026-01-01T00:00:00Z"; for a delay give delaySeconds.' },
  )
}
