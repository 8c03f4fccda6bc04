import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { runIdCharactersMax } from '../limits.ts'
import { base62Alphabet, randomBase62 } from '../text/base62.ts'

const [timeDigits, randomDigits] = [8, 14]

const timeText = (ms: number): string => {
  let text = ''
  for (let rest = ms; text.length < timeDigits; rest = Math.floor(rest / 62)) text = base62Alphabet[rest % 62] + text
  return text
}

let newestMs = 0
let newestText = ''

/**
 * Makes an id for a run whose caller chose none. It begins with the time, so that runs that are added together lie together in
 * the index of ids: a commit of many then writes fewer pages.
 */
export const newRunId = (): string => {
  const ms = Date.now()
  if (ms !== newestMs) [newestMs, newestText] = [ms, timeText(ms)]
  return `run_${newestText}${randomBase62(randomDigits)}`
}

const pattern = new RegExp(`^[A-Za-z0-9_-]{1,${runIdCharactersMax}}$`)

/** Tells whether a run can have this id. */
export const isRunId = (value: unknown): value is string => typeof value === 'string' && pattern.test(value)

export const parseRunId = (value: unknown, field: string): string => {
  if (isRunId(value)) return value
  throw new CubbyError(
    'invalid_key',
    `${field} is ${describeValue(value)}; it takes 1 to ${runIdCharactersMax} characters of A-Z, a-z, 0-9, "_" and "-".`,
    { field, hint: `Leave ${field} out and the server makes one.` },
  )
}

/** Proof that the holder of an attempt is the one to whom it was handed. */
export const newLease = (): string => `lease_${randomBase62(22)}`
