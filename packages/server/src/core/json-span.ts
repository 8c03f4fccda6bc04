import { CubbyError } from './errors.ts'

// JSON.parse checks a body and gives its values; what it cannot give is where a value stood in the text and
// whether a member stood twice. The walkers here find that in text that JSON.parse has already accepted, so
// they check nothing and never back up.

export interface Span {
  start: number
  end: number
  /** Levels of nesting: 1 for `{}`, 0 for a scalar. */
  depth: number
}

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = (error as Error).message.replace(/^JSON Parse error: /, '').slice(0, 200)
    throw new CubbyError('invalid_json', `The body is not valid JSON: ${reason}.`, {
      hint: text.startsWith('\ufeff')
        ? 'Remove the byte order mark before the first character.'
        : text.length === 0
          ? 'Send a JSON body.'
          : 'Send one JSON value in UTF-8.',
    })
  }
}

const quote = 0x22
const comma = 0x2c

const skipSpace = (text: string, at: number): number => {
  let code = text.charCodeAt(at)
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++at)
  return at
}

/** The index after the string that opens at `at`. */
const skipString = (text: string, at: number): number => {
  let close = text.indexOf('"', at + 1)
  for (;;) {
    // A quote ends the string unless an odd number of backslashes stands before it.
    let before = close - 1
    while (text.charCodeAt(before) === 0x5c) before--
    if ((close - before) % 2 === 1) return close + 1
    close = text.indexOf('"', close + 1)
  }
}

/** The span of the value that starts at `at`, white space around it left out. */
export const valueSpan = (text: string, at: number): Span => {
  const start = skipSpace(text, at)
  let index = start
  let level = 0
  let depth = 0
  do {
    const code = text.charCodeAt(index)
    if (code === quote) {
      index = skipString(text, index)
    } else if (code === 0x7b || code === 0x5b) {
      level++
      if (level > depth) depth = level
      index++
    } else if (code === 0x7d || code === 0x5d) {
      level--
      index++
    } else if (level > 0) {
      index++
    } else {
      index = skipScalar(text, index)
    }
  } while (level > 0)
  return { start, end: index, depth }
}

/** The index after the number, true, false or null that starts at `at`. */
const skipScalar = (text: string, at: number): number => {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || code === comma || code === 0x7d || code === 0x5d || Number.isNaN(code)) return at
    at++
  }
}

/** For errors: cut, since names are the caller's and may be as long as a body. */
const memberPath = (path: string, name: string): string => {
  const shown = (name.length > 80 ? `${name.slice(0, 80)}…` : name).toWellFormed()
  return path === '' ? shown : `${path.slice(-200)}.${shown}`
}

/**
 * Visits the members of the object that starts at `at`. `visit` gets each name, unescaped, with the start of
 * its value, and returns the end of that value. A name that stands twice is refused: which one was meant?
 */
export const walkObject = (
  text: string,
  at: number,
  path: string,
  visit: (name: string, valueStart: number) => number,
): number => {
  const names = new Set<string>()
  let index = skipSpace(text, skipSpace(text, at) + 1)
  while (text.charCodeAt(index) === quote) {
    const close = skipString(text, index)
    const raw = text.slice(index + 1, close - 1)
    const name = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
    if (names.has(name)) {
      const field = memberPath(path, name)
      throw new CubbyError('invalid_request', `${field} stands twice in the body.`, {
        field,
        hint: 'Send each member once.',
      })
    }
    names.add(name)
    const colon = skipSpace(text, close)
    index = skipSpace(text, visit(name, skipSpace(text, colon + 1)))
    if (text.charCodeAt(index) === comma) index = skipSpace(text, index + 1)
  }
  return index + 1
}

/** Visits the elements of the array that starts at `at`, as `walkObject` does members. */
export const walkArray = (
  text: string,
  at: number,
  visit: (position: number, valueStart: number) => number,
): number => {
  let index = skipSpace(text, skipSpace(text, at) + 1)
  for (let position = 0; text.charCodeAt(index) !== 0x5d; position++) {
    index = skipSpace(text, visit(position, index))
    if (text.charCodeAt(index) === comma) index = skipSpace(text, index + 1)
  }
  return index + 1
}

/** No request has envelope objects deeper than this; what lies deeper is refused for what it is. */
const envelopeDepthMax = 8

/** Refuses a member that stands twice anywhere in a body that carries no `data`. */
export const refuseDuplicateMembers = (text: string): void => {
  const walk = (at: number, path: string, level: number): number => {
    const code = text.charCodeAt(at)
    if (level < envelopeDepthMax && code === 0x7b) {
      return walkObject(text, at, path, (name, start) => walk(start, memberPath(path, name), level + 1))
    }
    if (level < envelopeDepthMax && code === 0x5b) {
      return walkArray(text, at, (position, start) => walk(start, `${path}[${position}]`, level + 1))
    }
    return valueSpan(text, at).end
  }
  walk(skipSpace(text, 0), '', 0)
}
