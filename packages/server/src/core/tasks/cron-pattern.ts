import { CubbyError } from '../errors.ts'
import { cronCharactersMax } from '../limits.ts'

interface Field {
  name: string
  least: number
  most: number
  /** The number of different values: a larger step has no meaning. */
  values: number
  /** The number of the first is `least`, except for days of the week: 0. */
  names: readonly string[]
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const fields: readonly Field[] = [
  { name: 'minute', least: 0, most: 59, values: 60, names: [] },
  { name: 'hour', least: 0, most: 23, values: 24, names: [] },
  { name: 'day of month', least: 1, most: 31, values: 31, names: [] },
  { name: 'month', least: 1, most: 12, values: 12, names: monthNames },
  // 0 and 7 are Sunday.
  { name: 'day of week', least: 0, most: 7, values: 7, names: dayNames },
]

export interface CronPattern {
  /** The minutes in ascending order, like the hours. */
  minutes: number[]
  hours: number[]
  days: ReadonlySet<number>
  /** The months, 1 to 12. */
  months: ReadonlySet<number>
  /** The days of the week, 0 (Sunday) to 6. */
  daysOfWeek: ReadonlySet<number>
  /** Minute and hour are single numbers. */
  isFixed: boolean
  /** A day must match both fields of days; otherwise one of them is enough. */
  needsBothDays: boolean
}

const fieldName = 'schedule.cron'

const refuse = (message: string, hint: string): never => {
  throw new CubbyError('invalid_schedule', message, { field: fieldName, hint })
}

const numbersHint = ({ least, most, names }: Field): string =>
  `Use ${least} to ${most}${names.length === 0 ? '' : ` or ${names[0]} to ${names.at(-1)}`}, with *, lists (1,15), ranges (1-5) and steps (*/15).`

/** `lastOfRange`: a range may end on Sunday, which is 7 then. */
const readNumber = (text: string, field: Field, lastOfRange: boolean): number | undefined => {
  const named = field.names.indexOf(text.toLowerCase())
  const number = named >= 0 ? named + field.least : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= field.least && number <= field.most)) return undefined
  return lastOfRange && text.toLowerCase() === 'sun' ? 7 : number
}

/** The numbers of one element of a list: `*`, `5` or `1-5`, also with a step. */
const readElement = (text: string, field: Field): number[] | undefined => {
  const [range, step, ...more] = text.split('/') as [string, ...string[]]
  if (more.length > 0) return undefined
  if (step !== undefined && !(/^\d{1,2}$/.test(step) && Number(step) >= 1 && Number(step) <= field.values))
    return undefined
  const [from, to, ...further] = range.split('-') as [string, ...string[]]
  if (further.length > 0) return undefined
  const between = (first: number, last: number): number[] => {
    const numbers: number[] = []
    for (let number = first; number <= last; number += Number(step ?? 1)) numbers.push(number)
    return numbers
  }
  if (to === undefined) {
    if (range === '*') return between(field.least, field.most)
    // `5/15` means different things to different programs.
    const number = readNumber(range, field, false)
    return number === undefined || step !== undefined ? undefined : [number]
  }
  const first = readNumber(from, field, false)
  const last = readNumber(to, field, from.toLowerCase() !== 'sun')
  if (first === undefined || last === undefined || first > last) return undefined
  return between(first, last)
}

const readField = (text: string, field: Field): number[] => {
  const numbers = text.split(',').flatMap((element) => {
    const read = readElement(element, field)
    if (read !== undefined) return read
    return refuse(
      `${fieldName} has ${JSON.stringify(element.toWellFormed())} as its ${field.name}, which is malformed.`,
      numbersHint(field),
    )
  })
  return [...new Set(numbers)].sort((a, b) => a - b)
}

// Tells whether it is one number. `2-2` is, `*/60` is not.
const isSingle = (text: string, numbers: number[]): boolean => !/[*/]/.test(text) && numbers.length === 1

/** Throws `invalid_schedule`. */
export const parseCron = (text: string): CronPattern => {
  if (text.length > cronCharactersMax) {
    refuse(
      `${fieldName} has ${text.length} characters; it takes at most ${cronCharactersMax}.`,
      'Use ranges and steps instead of long lists.',
    )
  }
  const parts = text.split(/[ \t]+/).filter((part) => part !== '')
  if (parts.length !== fields.length) {
    refuse(
      `${fieldName} has ${parts.length} ${parts.length === 1 ? 'field' : 'fields'}; it takes five.`,
      'Write minute, hour, day of month, month and day of week: "0 6 * * mon-fri".',
    )
  }
  const read = parts.map((part, i) => readField(part, fields[i]!))
  const [minutes, hours, days, months, daysOfWeek] = read as [number[], number[], number[], number[], number[]]
  const [minute, hour, day, , dayOfWeek] = parts as [string, string, string, string, string]
  return {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    daysOfWeek: new Set(daysOfWeek.map((number) => number % 7)),
    isFixed: isSingle(minute, minutes) && isSingle(hour, hours),
    needsBothDays: day.startsWith('*') || dayOfWeek.startsWith('*'),
  }
}
