import { printable } from '../../../server/src/core/text/printable.ts'
import type { TokenKind } from './tokens.ts'

export interface Cell {
  kind: TokenKind | 'object' | 'array'
  text: string
  /** True if the value goes on after `text`: such a cell must not be copied as if it were whole. */
  isCut: boolean
}

const cellCharactersMax = 200

const kinds: Readonly<Record<string, Cell['kind']>> = {
  '{': 'object',
  '[': 'array',
  '"': 'string',
  t: 'boolean',
  f: 'boolean',
  n: 'null',
}

/** The text as the server prints it, with halves of characters as JSON writes them. */
const visible = (piece: string): string =>
  printable(piece).replace(/\p{Cs}/gu, (half) => JSON.stringify(half).slice(1, -1))

/** Most of a string: characters that are shown as they are, each of one unit, so that the run may be cut anywhere. */
const plainRun = /[^"\\\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ud800-\udfff]{1,200}/y
const escaped = /\\(?:u[0-9a-fA-F]{4}|.)/suy

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** The smallest piece that is not cut: an escape, or a whole character. */
const pieceAt = (text: string, at: number): string =>
  matchAt(escaped, text, at) ?? String.fromCodePoint(text.codePointAt(at)!)

/** A character outside strings. */
const markAt = (character: string): string => {
  if (character === ',' || character === ':') return `${character} `
  return ' \t\r\n'.includes(character) ? '' : visible(character)
}

/**
 * The value at this place for a cell of a grid: its source text, at most 200 characters. White space between the values of
 * objects and arrays becomes one space after each comma and colon. Characters that could reorder or break the line are shown
 * as escapes. The cost does not grow with the length of the value, except for white space.
 */
export const cellOf = (text: string, start: number, end: number): Cell => {
  const kind = kinds[text[start] ?? ''] ?? 'number'
  const stop = Math.min(end, text.length)
  let shown = ''
  let inString = false
  for (let at = start; at < stop; ) {
    const run = inString ? matchAt(plainRun, text, at) : undefined
    if (run !== undefined) {
      at += run.length
      shown += run
      if (shown.length > cellCharactersMax) return { kind, text: shown.slice(0, cellCharactersMax), isCut: true }
      continue
    }
    const source = inString ? pieceAt(text, at) : text[at]!
    at += source.length
    if (source === '"') inString = !inString
    const piece = inString ? visible(source) : markAt(source)
    if (shown.length + piece.length > cellCharactersMax) return { kind, text: shown, isCut: true }
    shown += piece
  }
  return { kind, text: shown, isCut: false }
}
