import { retryAfterSecondsMax } from '../core/limits.ts'

// The form of dates that HTTP allows to send. Date.parse alone would also read "2026" or "1.5".
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** In milliseconds from `nowMs`: at most a day, and 0 for a date that has passed. Null without a valid value. */
export const parseRetryAfter = (value: string | undefined, nowMs: number): number | null => {
  const text = value?.trim() ?? ''
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1000 : httpDate.test(text) ? Date.parse(text) - nowMs : Number.NaN
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), retryAfterSecondsMax * 1000)
}
