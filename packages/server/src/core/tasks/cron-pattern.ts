import { CubbyError } from '../errors.ts'
import { cronCharactersMax } from '../limits.ts'

// Croner reads more than we offer (`L`, `#`, `?`, six fields, nicknames), so a pattern is checked before croner sees it.

interface Field {
  name: string
  least: number
  most: number
  /** How many different values there are: a larger step has no meaning. */
  values: number
  /** The number of the first is `least`, except for days of the week: 0. */
  names: readonly string[]
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const daysOfWeek = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const fields: readonly Field[] = [
  { name: 'minute', least: 0, most: 59, values: 60, names: [] },
  { name: 'hour', least: 0, most: 23, values: 24, names: [] },
  { name: 'day of month', least: 1, most: 31, values: 31, names: [] },
  { name: 'month', least: 1, most: 12, values: 12, names: months },
  // 0 and 7 are Sunday.
  { name: 'day of week', least: 0, most: 7, values: 7, names: daysOfWeek },
]

interface CronPattern {
  /** Five fields of numbers. */
  text: string
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

/** One element of a list, in numbers: `*`, `5`, `1-5`, and with a step the first and the last. */
const readElement = (text: string, field: Field): string | undefined => {
  const [range, step, ...more] = text.split('/') as [string, ...string[]]
  if (more.length > 0) return undefined
  if (step !== undefined && !(/^\d{1,2}$/.test(step) && Number(step) >= 1 && Number(step) <= field.values))
    return undefined
  const [from, to, ...further] = range.split('-') as [string, ...string[]]
  if (further.length > 0) return undefined
  const stepped = step === undefined ? '' : `/${Number(step)}`
  if (to === undefined) {
    if (range === '*') return `*${stepped}`
    // `5/15` means different things to different programs.
    const number = readNumber(range, field, false)
    return number === undefined || step !== undefined ? undefined : String(number)
  }
  const first = readNumber(from, field, false)
  const last = readNumber(to, field, from.toLowerCase() !== 'sun')
  if (first === undefined || last === undefined || first > last) return undefined
  return `${first}-${last}${stepped}`
}

const readField = (text: string, field: Field): string => {
  const elements = text.split(',').map((element) => {
    const read = readElement(element, field)
    if (read !== undefined) return read
    return refuse(
      `${fieldName} has ${JSON.stringify(element.toWellFormed())} as its ${field.name}, which is malformed.`,
      numbersHint(field),
    )
  })
  return elements.join(',')
}

/** Also `2-2`. Croner takes it for a single number too. */
const isSingle = (field: string): boolean => !/[*/]/.test(field) && new Set(field.split(/[,-]/)).size === 1

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
  const [minute, hour, dayOfMonth, , dayOfWeek] = read as [string, string, string, string, string]
  return {
    text: read.join(' '),
    isFixed: isSingle(minute) && isSingle(hour),
    needsBothDays: dayOfMonth.startsWith('*') || dayOfWeek.startsWith('*'),
  }
}
