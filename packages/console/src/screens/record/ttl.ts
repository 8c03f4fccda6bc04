import { ttlSecondsMax } from '../../../../server/src/core/limits.ts'
import { parseIsoDateTime } from '../../../../server/src/core/text/iso-date-time.ts'
import { showInstant } from '../../text/instant.ts'

// A ttl is epoch seconds. People may also type a date-time or a time from now.

type Ttl = { seconds: number | undefined; fault?: undefined } | { fault: string }

const unitSeconds: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
  week: 604_800,
  month: 2_629_746,
  year: 31_556_952,
}

const fromNow = /^(?:in +)?(\d{1,9}) *(second|minute|hour|day|week|month|year)s?$/i
const localTime = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?$/

const instantIn = (text: string): number | undefined => {
  if (!localTime.test(text)) return parseIsoDateTime(text)
  const ms = new Date(text.replace(' ', 'T')).getTime()
  return Number.isNaN(ms) ? undefined : ms
}

const checked = (seconds: number): Ttl => {
  if (seconds >= 0 && seconds <= ttlSecondsMax) return { seconds }
  if (seconds / 1000 <= ttlSecondsMax && seconds > 0) {
    return { fault: `${seconds} looks like milliseconds; in seconds it is ${Math.floor(seconds / 1000)}.` }
  }
  return { fault: 'The year 9999 is the last that it takes.' }
}

/** Reads a typed ttl. An empty text means that the record does not expire. */
export const readTtl = (typed: string, nowMs: number): Ttl => {
  const text = typed.trim()
  if (text === '') return { seconds: undefined }
  if (/^\d{1,15}$/.test(text)) return checked(Number(text))
  const span = fromNow.exec(text)
  if (span) return checked(Math.floor(nowMs / 1000) + Number(span[1]) * unitSeconds[span[2]!.toLowerCase()]!)
  const ms = instantIn(text)
  if (ms !== undefined) return checked(Math.floor(ms / 1000))
  return { fault: 'Give epoch seconds, a date-time such as 2027-01-31T12:00:00Z, or "in 30 days".' }
}

/** The ttl as a date-time that `readTtl` reads back as the same second. */
export const showTtl = (seconds: number | undefined): string =>
  seconds === undefined ? '' : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

export const ttlMeaning = (seconds: number): string => {
  const { local, utc } = showInstant(seconds * 1000)
  return local.endsWith('+00:00') ? utc : `${local} · ${utc}`
}
