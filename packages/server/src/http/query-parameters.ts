import { CubbyError } from '../core/errors.ts'
import { parseFlag } from '../core/members.ts'

/** The query parameters, decoded as a form, one after another: behind a wrong one there may be thousands. */
function* parametersOf(url: string): Generator<[name: string, value: string]> {
  for (let at = url.indexOf('?'); at >= 0; ) {
    const end = url.indexOf('&', at + 1)
    // The & before it keeps a ? at the beginning of a parameter's name.
    yield* new URLSearchParams(`&${url.slice(at + 1, end < 0 ? undefined : end)}`)
    at = end
  }
}

/** The query parameters of a request. An unknown or duplicate parameter is rejected by name. */
export const parseParameters = (url: string, known: readonly string[]): Record<string, string | undefined> => {
  const values: Record<string, string | undefined> = {}
  for (const [name, value] of parametersOf(url)) {
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

/** The JSON value of each text. */
const flagValues: Record<string, boolean> = { true: true, false: false }

export const parseFlagParameter = (value: string | undefined, name: string): boolean =>
  parseFlag(value === undefined ? undefined : (flagValues[value] ?? value), name)

/** A parameter as the member of an input that it is. */
export const jsonValue = (name: string, text: string): unknown => {
  if (name === 'limit') return parseIntegerParameter(text)
  return name === 'deleted' || name === 'counts' ? (flagValues[text] ?? text) : text
}
