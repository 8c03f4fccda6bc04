import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { dataBytesMax, dataDepthMax, ttlPastSecondsMax, ttlSecondsMax } from '../limits.ts'
import { type Members, refuseUnknownMembers } from '../members.ts'
import type { Span } from '../text/json-span.ts'
import { nowSeconds } from './expiry.ts'
import { parseRecordKey, type RecordKey } from './record-key.ts'

/** The checked content of a put, with `data` as it was in the body. */
export interface RecordToPut extends RecordKey {
  data: string
  ttlSeconds: number | null
  /** `data` as JSON.parse built it; undefined for large data, which is not built. */
  built?: Members
}

const putFields = ['hashKey', 'rangeKey', 'data', 'ttl'] as const

/**
 * `members` have shallow values, `text` is the whole body and `span` the place of `data` in it; `prefix` is `operations[3].`
 * inside a batch. Without `nowMs` a ttl in the past is accepted: an import checks it itself.
 */
export const parseRecordToPut = (
  members: Members,
  text: string,
  span: Span | undefined,
  nowMs: number | undefined,
  prefix = '',
  alsoKnown: readonly string[] = [],
): RecordToPut => {
  refuseUnknownMembers(members, [...putFields, ...alsoKnown], prefix)
  const { hashKey, rangeKey } = parseRecordKey(members.hashKey, members.rangeKey, prefix)
  return {
    hashKey,
    rangeKey,
    data: parseData(members.data, text, span, `${prefix}data`),
    ttlSeconds: parseTtl(members.ttl, `${prefix}ttl`, nowMs),
  }
}

/** Hints for data that is missing or too large. */
interface DataHints {
  missing: string
  tooLarge: string
}

const recordHints: DataHints = {
  missing: 'Put the record under "data".',
  tooLarge: 'Split the record over several range keys.',
}

const notObjectHint = (value: unknown): string =>
  typeof value === 'string' && /^\s*\{/.test(value)
    ? 'Send the object itself, not a string with its JSON.'
    : 'Wrap it: { "value": … }.'

/**
 * The text of `data`. `value` is its shallow value, and `span` its place in `text`. The payload and the result of a run follow
 * the same rules, with hints of their own.
 */
export const parseData = (
  value: unknown,
  text: string,
  span: Span | undefined,
  field: string,
  bytesMax = dataBytesMax,
  hints = recordHints,
): string => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes a JSON object.`, {
      field,
      hint: value === undefined ? hints.missing : notObjectHint(value),
    })
  }
  const data = text.slice(span!.start, span!.end)
  const bytes = Buffer.byteLength(data)
  if (bytes > bytesMax) {
    throw new CubbyError('record_too_large', `${field} has ${bytes} bytes of JSON; it takes at most ${bytesMax}.`, {
      field,
      hint: hints.tooLarge,
    })
  }
  if (span!.depth > dataDepthMax) {
    throw new CubbyError(
      'invalid_request',
      `${field} is ${span!.depth} levels deep; it takes at most ${dataDepthMax}.`,
      {
        field,
        hint: 'Flatten it, or store the inner part as a string.',
      },
    )
  }
  return data
}

export const parseTtl = (value: unknown, field: string, nowMs: number | undefined): number | null => {
  if (value === undefined) return null
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= ttlSecondsMax) {
    if (nowMs !== undefined) refuseLongPast(value, field, nowSeconds(nowMs))
    return value
  }
  // Today's epoch milliseconds exceed the year 9999 in seconds, so the most common mistake is always caught.
  const milliseconds = typeof value === 'number' && value > ttlSecondsMax && value / 1000 <= ttlSecondsMax
  throw new CubbyError(
    'invalid_ttl',
    `${field} is ${describeValue(value)}; it takes epoch seconds, an integer from 0 to ${ttlSecondsMax}.`,
    {
      field,
      hint: milliseconds
        ? `It looks like milliseconds; give seconds: ${Math.floor((value as number) / 1000)}.`
        : (secondsHint(value) ?? 'Leave ttl out for a record that does not expire.'),
    },
  )
}

/** A date or a number in a string, as epoch seconds. */
const secondsHint = (value: unknown): string | undefined => {
  if (typeof value !== 'string' || value.length > 40) return undefined
  if (/^[0-9]{10}$/.test(value)) return `Write it as ${value}.`
  const ms = /^[0-9]{13}$/.test(value) ? Number(value) : Date.parse(value)
  return ms >= 0 ? `Write it as ${Math.floor(ms / 1000)}.` : undefined
}

/** Smaller numbers are probably durations; as epoch seconds they would be in the 1970s. */
const durationSecondsMax = 10 * 365 * 86_400

/**
 * A ttl that has just passed may come from a slow request. One from last week is a mistake: its record would expire at once.
 */
const refuseLongPast = (ttlSeconds: number, field: string, now: number): void => {
  if (now - ttlSeconds <= ttlPastSecondsMax) return
  const hint =
    ttlSeconds === 0
      ? `Leave ttl out for a record that does not expire; a time is given in epoch seconds, now ${now}.`
      : ttlSeconds < durationSecondsMax
        ? `${ttlSeconds} looks like a duration; for ${ttlSeconds} seconds from now give ${now + ttlSeconds}.`
        : `It is ${new Date(ttlSeconds * 1000).toISOString()}; a day from now is ${now + 86_400}.`
  throw new CubbyError(
    'invalid_ttl',
    `${field} is ${ttlSeconds}, more than a day in the past; it takes the epoch second at which the record expires.`,
    { field, hint },
  )
}
