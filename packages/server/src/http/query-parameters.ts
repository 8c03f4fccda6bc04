import { CubbyError } from '../core/errors.ts'
import { pageRowsDefault, pageRowsMax } from '../core/limits.ts'
import { parseFlag, parseLimit } from '../core/members.ts'

/** The query parameters of a request. An unknown or duplicate parameter is rejected by name. */
export const parseParameters = (url: string, known: readonly string[]): Record<string, string | undefined> => {
  const start = url.indexOf('?')
  const values: Record<string, string | undefined> = {}
  if (start < 0) return values
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    const field = name.slice(0, 80)
    if (!known.includes(name)) {
      throw new CubbyError('invalid_request', `${field} is not a query parameter of this request.`, {
        field,
        hint: known.length === 0 ? 'It takes none.' : `Known parameters: ${known.join(', ')}.`,
      })
    }
    if (values[name] !== undefined) {
      throw new CubbyError('invalid_request', `${field} appears twice.`, { field, hint: 'Send it once.' })
    }
    values[name] = value
  }
  return values
}

/** The JSON value of decimal digits. Any other text stays as it is, to be rejected where an integer is needed. */
export const parseIntegerParameter = (value: string | undefined): number | string | undefined =>
  value !== undefined && /^[0-9]+$/.test(value) ? Number(value) : value

export const parseLimitParameter = (value: string | undefined): number =>
  parseLimit(parseIntegerParameter(value), pageRowsDefault, pageRowsMax)

/** The JSON value of each text. */
const flagValues: Record<string, boolean> = { true: true, false: false }

export const parseFlagParameter = (value: string | undefined, name: string): boolean =>
  parseFlag(value === undefined ? undefined : (flagValues[value] ?? value), name)
