import { skipSpace } from '../../../server/src/core/text/json-scan.ts'
import { checkJson } from './check.ts'
import { isClosing, isOpening, skipScalar, skipString } from './scan.ts'

/** The longest object or array of scalars that stays on one line. */
const lineCharactersMax = 60
/** Deeper levels stay on one line: the white space of 200,000 levels would take gigabytes. The server takes 64. */
const levelsMax = 64

/** The end of the string, number, word or mark at `at`. */
export const tokenEnd = (text: string, at: number): number => {
  const code = text.charCodeAt(at)
  if (code === 0x22) return skipString(text, at)
  if (isOpening(code) || isClosing(code) || code === 0x2c || code === 0x3a) return at + 1
  return skipScalar(text, at)
}

/** The object or array that opens at `at`, on one line; undefined if it is too long or holds another one. */
const onOneLine = (text: string, at: number): { line: string; end: number } | undefined => {
  const isObject = text[at] === '{'
  let line = text[at]!
  let next = skipSpace(text, at + 1)
  if (isObject && text[next] !== '}') line += ' '
  while (line.length <= lineCharactersMax) {
    const code = text.charCodeAt(next)
    if (isOpening(code)) return undefined
    const end = tokenEnd(text, next)
    if (isClosing(code)) {
      line += isObject && line.length > 1 ? ' }' : text[next]
      return line.length <= lineCharactersMax ? { line, end } : undefined
    }
    line += text.slice(next, end)
    if (code === 0x2c || code === 0x3a) line += ' '
    next = skipSpace(text, end)
  }
  return undefined
}

/**
 * Lays JSON out over lines, each member of the outermost object on its own. Only white space changes: numbers, escapes, duplicate members and their order stay as they are.
 * Text that is not JSON comes back unchanged.
 */
export const formatJson = (text: string, indent = 2): string => {
  if (!checkJson(text).ok) return text
  let formatted = ''
  let level = 0
  const newLine = (): string => (level > levelsMax ? '' : `\n${' '.repeat(level * indent)}`)
  for (let at = skipSpace(text, 0); at < text.length; ) {
    const code = text.charCodeAt(at)
    const isRoot = level === 0 && code === 0x7b && text[skipSpace(text, at + 1)] !== '}'
    const short = isOpening(code) && !isRoot ? onOneLine(text, at) : undefined
    const end = short?.end ?? tokenEnd(text, at)
    if (short !== undefined) {
      formatted += short.line
    } else if (isOpening(code)) {
      level++
      formatted += text[at] + newLine()
    } else if (isClosing(code)) {
      const isDeep = level-- > levelsMax
      formatted += (isDeep ? '' : newLine()) + text[at]
    } else {
      formatted += text.slice(at, end)
      if (code === 0x2c) formatted += newLine()
      if (code === 0x3a) formatted += ' '
    }
    at = skipSpace(text, end)
  }
  return formatted
}

/** The same text without white space between its values; unchanged if it is not JSON. */
export const compactJson = (text: string): string => {
  if (!checkJson(text).ok) return text
  let compact = ''
  for (let at = skipSpace(text, 0); at < text.length; ) {
    const end = tokenEnd(text, at)
    compact += text.slice(at, end)
    at = skipSpace(text, end)
  }
  return compact
}
