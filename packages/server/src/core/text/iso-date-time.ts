const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/

const daysInMonth = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/**
 * Epoch milliseconds of a strict ISO-8601 date-time, or undefined for every other string. Digits after the
 * milliseconds are truncated, not rounded. `Date.parse` is not used: it accepts many other forms and turns
 * 30 February into March.
 */
export const parseIsoDateTime = (text: string): number | undefined => {
  // The shortest form has 20 characters, the longest 35; most strings are ruled out here.
  if (text.length < 20 || text.length > 35 || text.charCodeAt(10) !== 0x54) return undefined
  const match = pattern.exec(text)
  if (match === null) return undefined
  const year = Number(match[1])
  const month = Number(match[2])
  const day = Number(match[3])
  const hour = Number(match[4])
  const minute = Number(match[5])
  const second = Number(match[6])
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const offsetHour = Number(match[9] ?? 0)
  const offsetMinute = Number(match[10] ?? 0)
  if (offsetHour > 23 || offsetMinute > 59) return undefined
  const milliseconds = match[7] === undefined ? 0 : Number(match[7].padEnd(3, '0').slice(0, 3))
  const offsetMs = (offsetHour * 60 + offsetMinute) * 60_000 * (match[8] === '-' ? -1 : 1)
  // Date.UTC reads the years 0 to 99 as 1900 to 1999; setUTCFullYear does not.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  date.setUTCHours(hour, minute, second, milliseconds)
  return date.getTime() - offsetMs
}
