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
import { type Scalar, words } from '../scalar.ts'
import { parseIsoDateTime } from '../text/iso-date-time.ts'

// The numbers of requests about runs. Each parser returns undefined for an absent member.

export const leaseSecondsRule = {
  type: 'integer',
  minimum: 1,
  maximum: leaseSecondsMax,
  [words]: {
    unit: 'seconds',
    hint: 'Leave it out for the lease that the task declares. A long attempt extends its lease.',
  },
} as const satisfies Scalar

export const waitSecondsRule = {
  type: 'integer',
  minimum: 0,
  maximum: waitSecondsMax,
  [words]: { unit: 'seconds', hint: 'Ask again after each answer.' },
} as const satisfies Scalar

/** Unlike the limit of a page, one that is too large is an error: a claim has no cursor that tells of more. */
export const claimLimitRule = {
  type: 'integer',
  minimum: 1,
  maximum: claimRunsMax,
  [words]: { hint: `Claim ${claimRunsMax} at a time.` },
} as const satisfies Scalar

export const delaySecondsRule = {
  type: 'integer',
  minimum: 0,
  maximum: runDelaySecondsMax,
  [words]: { unit: 'seconds', hint: 'For a later time give runAt.' },
} as const satisfies Scalar

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
