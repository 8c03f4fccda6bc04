import { dataBytesMax, dataDepthMax } from '../../../server/src/core/limits.ts'
import { skipSpace } from '../../../server/src/core/text/json-scan.ts'
import { escapeOf, foundAt, helpAt, helpBehind, helpWithEscape, helpWithName, helpWithValue } from './fault-words.ts'
import { type Place, placeOf } from './place.ts'
import { isClosing, isOpening } from './scan.ts'

export interface TextFault extends Place {
  ok: false
  offset: number
  /** A whole sentence, with line and column where one place is at fault. */
  message: string
}

type Checked = { ok: true } | TextFault

/** Ends the scan at the first fault. */
class Fault extends Error {
  readonly offset: number
  constructor(offset: number, words: string) {
    super(words)
    this.offset = offset
  }
}

/** `at` is where something else than expected was found. */
const unexpected = (text: string, at: number, expected: string, help = '', found = foundAt(text, at)): Fault =>
  new Fault(at, `expected ${expected}, found ${found}${help && `; ${help}`}`)

const placeWords = (text: string, offset: number): string => {
  const { line, column } = placeOf(text, offset)
  return `line ${line}, column ${column}`
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

const readDigits = (text: string, at: number, where: string): number => {
  if (!isDigit(text.charCodeAt(at))) throw unexpected(text, at, `a digit ${where}`, helpAt(text, at - 1))
  while (isDigit(text.charCodeAt(at))) at++
  return at
}

const readNumber = (text: string, start: number): number => {
  let at = text[start] === '-' ? start + 1 : start
  if (text[at] === '0' && isDigit(text.charCodeAt(at + 1))) {
    throw unexpected(text, start, 'a number without leading zeros', 'remove them, or write a string')
  }
  at = readDigits(text, at, 'after the minus sign')
  if (text[at] === '.') at = readDigits(text, at + 1, 'after the point')
  if (text[at] === 'e' || text[at] === 'E') {
    at++
    if (text[at] === '+' || text[at] === '-') at++
    at = readDigits(text, at, 'in the exponent')
  }
  return at
}

const escaped = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

/** The reason why the string that opens at `start` does not go on at `at`. */
const stringFault = (text: string, start: number, at: number): Fault => {
  const found = text[at]
  if (found === undefined) {
    return unexpected(text, at, `a quote at the end of the string that starts at ${placeWords(text, start)}`)
  }
  if (found === '\n' || found === '\r') {
    return unexpected(text, at, 'a quote at the end of the string', 'add it, or write the line break as \\n')
  }
  return unexpected(text, at, 'no control character inside a string', `write it as ${escapeOf(found)}`)
}

const readString = (text: string, start: number): number => {
  let at = start + 1
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === 0x22) return at + 1
    if (code === 0x5c) {
      escaped.lastIndex = at + 1
      if (!escaped.test(text)) {
        if (at + 1 >= text.length) throw stringFault(text, start, at + 1)
        if (text[at + 1] === 'u') {
          const digits = /^[0-9a-f]*/i.exec(text.slice(at + 2, at + 6))![0].length
          throw unexpected(text, at + 2 + digits, 'four hexadecimal digits after \\u')
        }
        throw unexpected(text, at + 1, 'one of " \\ / b f n r t u after the backslash', helpWithEscape(text[at + 1]))
      }
      at = escaped.lastIndex
    } else if (code >= 0x20) {
      at++
    } else {
      throw stringFault(text, start, at)
    }
  }
}

const words = ['true', 'false', 'null']

const readScalar = (text: string, at: number): number => {
  const code = text.charCodeAt(at)
  if (code === 0x22) return readString(text, at)
  if (code === 0x2d || isDigit(code)) return readNumber(text, at)
  const word = words.find((each) => text.startsWith(each, at))
  if (word !== undefined) return at + word.length
  throw unexpected(text, at, 'a value', helpWithValue(text, at))
}

/** The offset after the name at `at` and its colon. */
const readName = (text: string, at: number): number => {
  if (text[at] !== '"') throw unexpected(text, at, 'a name in double quotes', helpWithName(text, at))
  const colon = skipSpace(text, readString(text, at))
  if (text[colon] !== ':') throw unexpected(text, colon, 'a colon after the name', helpBehind(text, colon))
  return colon + 1
}

/** Throws a Fault unless the text is JSON of at most `levelsMax` levels. Not recursive: text may be nested at will. */
const scan = (text: string, levelsMax: number): void => {
  const opened: number[] = []
  let valueNext = true
  let at = 0
  for (;;) {
    at = skipSpace(text, at)
    const code = text.charCodeAt(at)
    if (valueNext) {
      if (!isOpening(code)) {
        at = readScalar(text, at)
        valueNext = false
        continue
      }
      if (opened.push(at) > levelsMax) {
        throw new Fault(at, `data has more than ${levelsMax} levels; flatten it, or store the inner part as a string`)
      }
      at = skipSpace(text, at + 1)
      // `}` is `{` plus 2, and `]` is `[` plus 2.
      if (text.charCodeAt(at) === code + 2) valueNext = false
      else if (code === 0x7b) at = readName(text, at)
      continue
    }
    const open = opened.at(-1)
    if (open === undefined) {
      if (at === text.length) return
      throw unexpected(text, at, 'the end of the text after the value', helpBehind(text, at))
    }
    const openCode = text.charCodeAt(open)
    if (code === openCode + 2) {
      opened.pop()
      at++
    } else if (code === 0x2c) {
      const next = skipSpace(text, at + 1)
      if (isClosing(text.charCodeAt(next))) {
        throw unexpected(text, at, 'a value after the comma', 'remove the comma', text[next])
      }
      at = openCode === 0x7b ? readName(text, next) : next
      valueNext = true
    } else {
      const help =
        at < text.length ? helpBehind(text, at) : `the ${text[open]} at ${placeWords(text, open)} is not closed`
      throw unexpected(text, at, `a comma or ${openCode === 0x7b ? '}' : ']'} after the value`, help)
    }
  }
}

const check = (text: string, levelsMax: number): Checked => {
  try {
    scan(text, levelsMax)
    return { ok: true }
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return at(text, fault.offset, fault.message)
  }
}

const at = (text: string, offset: number, words: string): TextFault => ({
  ok: false,
  offset,
  ...placeOf(text, offset),
  message: `${placeWords(text, offset)}: ${words}`,
})

/** Takes exactly what JSON.parse takes, and names the first fault by line, column and what was expected. */
export const checkJson = (text: string): Checked => check(text, Number.POSITIVE_INFINITY)

/** The bytes that count for the limit: UTF-8, without the white space around the value. */
export const recordBytes = (text: string): number => {
  let end = text.length
  while (' \t\r\n'.includes(text[end - 1] ?? '.')) end--
  return new TextEncoder().encode(text.slice(skipSpace(text, 0), end)).length
}

/** JSON that the server takes as `data`, and that arrives as it is written here. The bytes that count are those of `sent`. */
export const checkRecord = (text: string, bytesMax = dataBytesMax, sent: () => string = () => text): Checked => {
  const checked = check(text, dataDepthMax)
  if (!checked.ok) return checked
  const start = skipSpace(text, 0)
  if (text[start] !== '{') {
    const found = text[start] === '[' ? 'an array' : foundAt(text, start)
    return at(text, start, `expected an object, found ${found}; wrap it: { "value": … }`)
  }
  // The flag u lets this find lone surrogates only. UTF-8 has none: the browser would send U+FFFD in its place.
  const lone = text.search(/\p{Cs}/u)
  if (lone !== -1) {
    const code = text.charCodeAt(lone).toString(16)
    return at(text, lone, `expected a whole character, found half of one; write it as \\u${code}, or remove it`)
  }
  const bytes = recordBytes(sent())
  if (bytes <= bytesMax) return checked
  const message = `data has ${bytes} bytes of JSON; it takes at most ${bytesMax}. Split the record over several range keys.`
  return { ok: false, offset: start, ...placeOf(text, start), message }
}
