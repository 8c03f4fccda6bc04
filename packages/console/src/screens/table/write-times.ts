// The parts of time whose last writes are counted: whole hours or days of the reader's clock, the current one last.

interface Span {
  label: string
  fromMs: number
  toMs: number
}

export type Unit = 'hour' | 'day'

const hours = 24
const days = 14
const hourMs = 3_600_000

const two = (value: number): string => String(value).padStart(2, '0')

const hourSpan = (fromMs: number): Span => {
  const date = new Date(fromMs)
  return {
    label: `${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:00`,
    fromMs,
    toMs: fromMs + hourMs,
  }
}

const daySpan = (today: Date, daysBefore: number): Span => {
  // The calendar gives the bounds: a day may have 23 or 25 hours.
  const at = (before: number): Date => new Date(today.getFullYear(), today.getMonth(), today.getDate() - before)
  const from = at(daysBefore)
  const label = `${from.getFullYear()}-${two(from.getMonth() + 1)}-${two(from.getDate())}`
  return { label, fromMs: from.getTime(), toMs: at(daysBefore - 1).getTime() }
}

export const spansOf = (unit: Unit, nowMs: number): Span[] => {
  if (unit === 'day') {
    return Array.from({ length: days }, (_, index) => daySpan(new Date(nowMs), days - 1 - index))
  }
  const now = new Date(nowMs)
  // Time zones may differ from UTC by half an hour.
  now.setMinutes(0, 0, 0)
  return Array.from({ length: hours }, (_, index) => hourSpan(now.getTime() - (hours - 1 - index) * hourMs))
}
