import { parseArgs } from 'node:util'
import { CubbyError } from '../core/errors.ts'
import { similarName } from '../core/similar-name.ts'
import { parseDuration, showDuration } from '../core/text/duration.ts'
import { errorLine } from './hint-text.ts'

export interface Flag {
  type: 'string' | 'boolean'
  /** The placeholder for the value in help: `DIR`. */
  value?: string
  help: string
  default?: string
  /** One letter that stands for it: `o` for `-o`. */
  short?: string
}

/** One form in which a command can be called. */
export interface CallForm {
  /** The words after the command's name, for help: `NAME`. One in brackets is optional; `NAME...` is one or more. */
  positionals?: string[]
  flags: Record<string, Flag>
}

export interface Arguments {
  positionals: string[]
  /** A flag's value: from the command line, else from CUBBY_…, else the default. */
  text(name: string): string | undefined
  /** Tells whether the flag is on the command line, where it outranks the environment. */
  isGiven(name: string): boolean
  flag(name: string): boolean
}

/** A mistake in the call itself: shown in one line, exit 2. */
export class UsageError extends Error {}

/** Returns a suggestion for an unknown word; empty if no known word is like it. */
export const didYouMean = (word: string, known: readonly string[]): string => {
  const similar = similarName(word, known)
  return similar === undefined ? '' : ` (did you mean ${similar}?)`
}

export const jsonFlag: Flag = { type: 'boolean', help: 'print JSON' }

/** The variable that sets a flag: `pool-size` is CUBBY_POOL_SIZE. */
export const environmentName = (flag: string): string => `CUBBY_${flag.toUpperCase().replaceAll('-', '_')}`

/** Returns how a value was given, for messages: `--store` or CUBBY_STORE. */
export const givenAs = (args: Arguments, flag: string): string =>
  args.isGiven(flag) ? `--${flag}` : environmentName(flag)

export const parseArguments = (
  { flags, positionals: expected = [] }: CallForm,
  words: string[],
  env: Record<string, string | undefined>,
): Arguments => {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, short }]) => [name, short === undefined ? { type } : { type, short }]),
  )
  let values: Record<string, string | boolean | undefined>
  let positionals: string[]
  try {
    const parsed = parseArgs({ args: words, options, allowPositionals: true, strict: true })
    values = parsed.values as typeof values
    positionals = parsed.positionals
  } catch (error) {
    const message = (error as Error).message.split(/\.\s/)[0]!
    const unknown = /^Unknown option '--([^']+)'/.exec(message)?.[1]
    throw new UsageError(
      unknown === undefined
        ? message
        : message +
            didYouMean(
              `--${unknown}`,
              Object.keys(flags).map((flag) => `--${flag}`),
            ),
    )
  }
  const required = expected.filter((name) => !name.startsWith('['))
  if (positionals.length < required.length) throw new UsageError(`${required[positionals.length]} is missing`)
  if (positionals.length > expected.length && expected.at(-1)?.endsWith('...') !== true) {
    throw new UsageError(`"${positionals[expected.length]}" is one argument too many`)
  }
  const fromEnvironment = (name: string): string | undefined => env[environmentName(name)] || undefined
  return {
    positionals,
    text: (name) => (values[name] as string | undefined) ?? fromEnvironment(name) ?? flags[name]!.default,
    isGiven: (name) => values[name] !== undefined,
    flag: (name) => values[name] === true || /^(1|true|yes)$/i.test(fromEnvironment(name) ?? ''),
  }
}

/** The flag has a default. */
export const parseCount = (args: Arguments, flag: string, min: number, max: number): number => {
  const text = args.text(flag)!
  const count = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (Number.isInteger(count) && count >= min && count <= max) return count
  throw new UsageError(`${givenAs(args, flag)} is "${text}"; it takes ${min} to ${max}`)
}

/** The flag has a default. */
export const parseDurationFlag = (args: Arguments, flag: string, minMs: number, maxMs: number): number => {
  const text = args.text(flag)!
  const ms = parseDuration(text)
  if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms
  const range = `${showDuration(minMs)} to ${showDuration(maxMs)}`
  throw new UsageError(`${givenAs(args, flag)} is "${text}"; it takes a number and s, m, h or d, such as 24h: ${range}`)
}

/** A flag or a name that the service's own rules reject is a mistake in the call. */
export const orUsageError = <T>(parse: () => T): T => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    throw new UsageError(errorLine(error).replace(/\.$/, ''))
  }
}
