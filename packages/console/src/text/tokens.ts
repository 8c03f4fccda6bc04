import { skipSpace } from '../../../server/src/core/text/json-scan.ts'
import { isClosing, isOpening, skipScalar } from './scan.ts'

export type TokenKind = 'name' | 'string' | 'number' | 'boolean' | 'null' | 'mark' | 'bad'

interface Token {
  kind: TokenKind
  start: number
  end: number
}

/** A number of JSON. */
export const numberForm = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const escaped = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

const scalarKind = (word: string): TokenKind => {
  if (word === 'true' || word === 'false') return 'boolean'
  if (word === 'null') return 'null'
  return numberForm.test(word) ? 'number' : 'bad'
}

/** A string ends at its quote, at a line break, or at `to`; in the last two cases, or with an unknown escape, it is bad. */
const stringToken = (text: string, start: number, to: number): Token => {
  let kind: TokenKind = 'string'
  let at = start + 1
  for (; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      const end = at + 1
      if (kind === 'string' && text[skipSpace(text, end)] === ':') kind = 'name'
      return { kind, start, end }
    }
    if (code === 0x0a || code === 0x0d) break
    if (code < 0x20) kind = 'bad'
    if (code !== 0x5c) continue
    escaped.lastIndex = at + 1
    if (!escaped.test(text)) kind = 'bad'
    // An escaped character does not end the string, unless it is a line break.
    const next = text.charCodeAt(at + 1)
    if (next !== 0x0a && next !== 0x0d) at++
  }
  return { kind: 'bad', start, end: Math.min(at, to) }
}

/**
 * The tokens of any text, JSON or not, in order and without white space. A string of JSON has no line break, so the tokens
 * of a line do not depend on the lines before it: `from` and `to` may be the bounds of one line.
 */
export const tokensOf = (text: string, from = 0, to = text.length): Token[] => {
  const tokens: Token[] = []
  const stop = Math.min(to, text.length)
  for (let at = skipSpace(text, from); at < stop; ) {
    const code = text.charCodeAt(at)
    let token: Token
    if (code === 0x22) {
      token = stringToken(text, at, stop)
    } else if (isOpening(code) || isClosing(code) || code === 0x2c || code === 0x3a) {
      token = { kind: 'mark', start: at, end: at + 1 }
    } else {
      // A control character is a token by itself.
      const end = Math.min(Math.max(skipScalar(text, at), at + 1), stop)
      token = { kind: scalarKind(text.slice(at, end)), start: at, end }
    }
    tokens.push(token)
    at = skipSpace(text, token.end)
  }
  return tokens
}
