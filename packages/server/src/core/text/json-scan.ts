import { CubbyError } from '../errors.ts'

// Checks that a text is JSON, exactly as JSON.parse does, without building values. JSON.parse builds everything, and an
// object such as {"999":1} needs ten kilobytes: a body of 400 kB would need 330 MB.

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

export const skipSpace = (text: string, at: number): number => {
  let code = text.charCodeAt(at)
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++at)
  return at
}

/** The index of the last unit before `at` that is not white space; -1 if there is none. */
export const lastBefore = (text: string, at: number): number => {
  let code = text.charCodeAt(--at)
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(--at)
  return at
}

/** Up to this many quotes in a string are searched one by one; with more, a plain loop over all units is faster. */
const soughtQuotesMax = 16

/** The index after the string that opens at `at`; -1 if it does not end. Its content is not checked. */
export const skipString = (text: string, at: number): number => {
  let close = text.indexOf('"', at + 1)
  for (let sought = 1; close !== -1 && sought <= soughtQuotesMax; sought++) {
    // A quote ends the string unless an odd number of backslashes precedes it.
    let before = close - 1
    while (text.charCodeAt(before) === backslash) before--
    if ((close - before) % 2 === 1) return close + 1
    close = text.indexOf('"', close + 1)
  }
  if (close === -1) return -1
  // The last quote that was found is part of the string.
  for (let i = text.lastIndexOf('"', close - 1) + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) return i + 1
    if (code === backslash) i++
  }
  return -1
}

const isHexDigit = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46)

/** The index after the escape whose backslash is at `at`; -1 if there is no such escape. */
const scanEscape = (text: string, at: number): number => {
  switch (text.charCodeAt(at + 1)) {
    case quote:
    case backslash:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2
    case 0x75: // u
      for (let i = at + 2; i < at + 6; i++) if (!isHexDigit(text.charCodeAt(i))) return -1
      return at + 6
    default:
      return -1
  }
}

/** Up to this length a string is checked unit by unit; longer strings only where they have escapes. */
const shortStringUnits = 64

/** The index after the string that opens at `at`; -1 if it is not valid. */
const scanString = (text: string, at: number): number => {
  const long = at + shortStringUnits
  let i = at + 1
  while (i < long) {
    const code = text.charCodeAt(i)
    if (code === quote) return i + 1
    if (code === backslash) {
      i = scanEscape(text, i)
      if (i === -1) return -1
    } else if (code >= 0x20) {
      i++
    } else {
      // A control character, or NaN at the end of the text.
      return -1
    }
  }
  return scanLongString(text, at, i)
}

/** The same, starting at `i`. JSON.parse checks many units at once, but escapes slow it down. */
const scanLongString = (text: string, at: number, i: number): number => {
  const end = text.indexOf('"', i) + 1
  if (end === 0) return -1
  const string = text.slice(at, end)
  if (!string.includes('\\')) {
    try {
      JSON.parse(string)
      return end
    } catch {
      return -1
    }
  }
  for (;;) {
    const code = text.charCodeAt(i)
    if (code === quote) return i + 1
    if (code === backslash) {
      i = scanEscape(text, i)
      if (i === -1) return -1
    } else if (code >= 0x20) {
      i++
    } else {
      return -1
    }
  }
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

const skipDigits = (text: string, at: number): number => {
  while (isDigit(text.charCodeAt(at))) at++
  return at
}

/** The index after the number that starts at `at`; -1 if there is none. */
const scanNumber = (text: string, at: number): number => {
  let i = text.charCodeAt(at) === 0x2d ? at + 1 : at
  if (!isDigit(text.charCodeAt(i))) return -1
  i = text.charCodeAt(i) === 0x30 ? i + 1 : skipDigits(text, i)
  if (text.charCodeAt(i) === 0x2e) {
    if (!isDigit(text.charCodeAt(++i))) return -1
    i = skipDigits(text, i)
  }
  const code = text.charCodeAt(i)
  if (code !== 0x65 && code !== 0x45) return i
  const sign = text.charCodeAt(++i)
  if (sign === 0x2b || sign === 0x2d) i++
  return isDigit(text.charCodeAt(i)) ? skipDigits(text, i) : -1
}

/** The index after the number, true, false or null that starts at `at`, with `code`; -1 if there is none. */
const scanScalar = (text: string, at: number, code: number): number => {
  switch (code) {
    case 0x74:
      return text.startsWith('true', at) ? at + 4 : -1
    case 0x66:
      return text.startsWith('false', at) ? at + 5 : -1
    case 0x6e:
      return text.startsWith('null', at) ? at + 4 : -1
    default:
      return scanNumber(text, at)
  }
}

/** The index after the name that starts at `at` and its colon; -1 if there is none. */
const scanName = (text: string, at: number): number => {
  const end = text.charCodeAt(at) === quote ? scanString(text, at) : -1
  if (end === -1) return -1
  const next = skipSpace(text, end)
  return text.charCodeAt(next) === colon ? next + 1 : -1
}

/** `reason` comes from JSON.parse; `what` names the text that is not JSON, by default the request body. */
const invalidJson = (text: string, reason: string, what: string | undefined): CubbyError => {
  if (what !== undefined) return new CubbyError('invalid_json', `${what} is not valid JSON: ${reason}.`)
  return new CubbyError('invalid_json', `The body is not valid JSON: ${reason}.`, {
    hint: text.startsWith('\ufeff')
      ? 'Remove the byte order mark before the first character.'
      : text.length === 0
        ? 'Send a JSON body.'
        : 'Send one JSON value in UTF-8.',
  })
}

const reasonOf = (error: unknown): string => (error as Error).message.replace(/^JSON Parse error: /, '').slice(0, 200)

const smallUnits = 2_048
const cheapUnitsMax = 64 * 1024
const cheapContainersMax = 200

/**
 * Tells whether JSON.parse may build the text, which is the fastest way to read it. Objects (up to 10 kB each) and depth are
 * expensive, so the text must be small or have few objects and arrays. The result stays below a few megabytes.
 */
export const isCheapToBuild = (text: string): boolean => {
  if (text.length <= smallUnits) return true
  if (text.length > cheapUnitsMax) return false
  return hasAtMost(text, '{', cheapContainersMax) && hasAtMost(text, '[', cheapContainersMax)
}

const hasAtMost = (text: string, unit: string, most: number): boolean => {
  let at = -1
  for (let found = 0; found <= most; found++) {
    at = text.indexOf(unit, at + 1)
    if (at < 0) return true
  }
  return false
}

/** Parses texts that are cheap to build: see `isCheapToBuild`. */
export const parseJson = (text: string, what?: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidJson(text, reasonOf(error), what)
  }
}

type Expected = 'a value' | 'a name' | 'a colon' | 'what follows a value'

/** The shortest text after which JSON.parse is in the same state as at `at`. */
const leadTo = (text: string, at: number, expected: Expected, container: 'object' | 'array' | undefined): string => {
  const afterComma = text.charCodeAt(lastBefore(text, at)) === comma
  switch (expected) {
    case 'a name':
      return afterComma ? '{"":0,' : '{'
    case 'a colon':
      return '{"" '
    case 'a value':
      return container === undefined ? '' : container === 'object' ? '{"":' : afterComma ? '[0,' : '['
    case 'what follows a value':
      return container === undefined ? '0 ' : container === 'object' ? '{"":0 ' : '[0 '
  }
}

/**
 * A resumable scan over one JSON text: a large body is checked in steps, so that other requests run in between. Each
 * level of nesting takes one bit.
 */
export class JsonScan {
  readonly #text: string
  readonly #what: string | undefined
  #at = 0
  #level = 0
  /** One bit per level: whether it is an object, innermost level in the lowest bit. 32 levels; outer levels are in `#outer`. */
  #objects = 0
  readonly #outer: number[] = []
  #valueNext = true

  constructor(text: string, what?: string) {
    this.#text = text
    this.#what = what
  }

  /** Scans at least `units` UTF-16 units, to the end of a token. True when the whole text is known to be JSON. */
  run(units = Number.POSITIVE_INFINITY): boolean {
    const text = this.#text
    const pause = this.#at + units
    let at = this.#at
    let level = this.#level
    let objects = this.#objects
    let valueNext = this.#valueNext
    while (at < pause) {
      let code = text.charCodeAt(at)
      while ((code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) && at < pause)
        code = text.charCodeAt(++at)
      if (at >= pause) break
      if (valueNext) {
        if (code === quote) {
          const end = scanString(text, at)
          if (end === -1) throw this.#fault(at, 'a value', level, objects)
          at = end
          valueNext = false
        } else if (code === openBrace) {
          if ((level & 31) === 0 && level > 0) this.#outer.push(objects)
          objects = (objects << 1) | 1
          level++
          at = skipSpace(text, at + 1)
          if (text.charCodeAt(at) === closeBrace) {
            valueNext = false
          } else {
            const end = scanName(text, at)
            if (end === -1) throw this.#nameFault(at, level)
            at = end
          }
        } else if (code === openBracket) {
          if ((level & 31) === 0 && level > 0) this.#outer.push(objects)
          objects <<= 1
          level++
          at = skipSpace(text, at + 1)
          // The closing bracket of an empty object or array is handled like the one after a last value.
          if (text.charCodeAt(at) === closeBracket) valueNext = false
        } else {
          const end = scanScalar(text, at, code)
          if (end === -1) throw this.#fault(at, 'a value', level, objects)
          at = end
          valueNext = false
        }
      } else if (level === 0) {
        if (at < text.length) throw this.#fault(at, 'what follows a value', level, objects)
        break
      } else if (code === comma) {
        at++
        valueNext = true
        if ((objects & 1) === 1) {
          at = skipSpace(text, at)
          const end = scanName(text, at)
          if (end === -1) throw this.#nameFault(at, level)
          at = end
        }
      } else if (code === ((objects & 1) === 1 ? closeBrace : closeBracket)) {
        at++
        level--
        objects >>= 1
        if ((level & 31) === 0 && level > 0) objects = this.#outer.pop()!
      } else {
        throw this.#fault(at, 'what follows a value', level, objects)
      }
    }
    this.#at = at
    this.#level = level
    this.#objects = objects
    this.#valueNext = valueNext
    return !valueNext && level === 0 && at === text.length
  }

  #nameFault(at: number, level: number): CubbyError {
    const text = this.#text
    const end = text.charCodeAt(at) === quote ? scanString(text, at) : -1
    if (end === -1) return this.#fault(at, 'a name', level, 1)
    return this.#fault(skipSpace(text, end), 'a colon', level, 1)
  }

  /** JSON.parse finds the reason. It gets the text from the fault on, so it builds nothing before it fails. */
  #fault(at: number, expected: Expected, level: number, objects: number): CubbyError {
    const text = this.#text
    const container = level === 0 ? undefined : (objects & 1) === 1 ? 'object' : 'array'
    try {
      JSON.parse(leadTo(text, at, expected, container) + text.slice(at))
    } catch (error) {
      return invalidJson(text, reasonOf(error), this.#what)
    }
    throw new Error('JSON.parse accepts a text that the scan rejects')
  }
}

/** Throws if the text is not JSON. */
export const checkJson = (text: string, what?: string): void => {
  if (isCheapToBuild(text)) parseJson(text, what)
  else new JsonScan(text, what).run()
}
