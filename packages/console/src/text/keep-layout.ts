import { skipSpace } from '../../../server/src/core/text/json-scan.ts'
import { checkJson } from './check.ts'
import { matchLists, numberTexts } from './diff.ts'
import { tokenEnd } from './format.ts'
import { isClosing, isOpening } from './scan.ts'

// Text is shown formatted, whatever white space is stored. This module puts what the reader changed in the formatted text back
// into the stored one, so that all other bytes stay as they are.

interface Tokens {
  text: string
  /** The offsets of each token. A last token, which is empty, stands for the end. */
  starts: number[]
  ends: number[]
}

const tokensIn = (text: string): Tokens => {
  const starts: number[] = []
  const ends: number[] = []
  let at = skipSpace(text, 0)
  while (at < text.length) {
    const end = tokenEnd(text, at)
    starts.push(at)
    ends.push(end)
    at = skipSpace(text, end)
  }
  starts.push(text.length)
  ends.push(text.length)
  return { text, starts, ends }
}

const tokenAt = ({ text, starts, ends }: Tokens, i: number): string => text.slice(starts[i], ends[i])
/** The white space before a token. */
const spaceBefore = ({ text, starts, ends }: Tokens, i: number): string => text.slice(ends[i - 1] ?? 0, starts[i])

const numbersOf = (tokens: Tokens, numbered: (texts: Iterable<string>) => Int32Array): Int32Array =>
  numbered(tokens.starts.map((_, i) => tokenAt(tokens, i)))

/** The white space after commas and colons in a text of one line; undefined if the text has several lines. */
const lineStyle = (stored: Tokens): ((before: string) => string) | undefined => {
  const spaces: Record<string, string> = {}
  for (let i = 1; i < stored.starts.length; i++) {
    const space = spaceBefore(stored, i)
    if (/[\n\r]/.test(space)) return undefined
    spaces[tokenAt(stored, i - 1)] ??= space
  }
  return (before) => (before === ',' || before === ':' ? (spaces[before] ?? spaces[':'] ?? '') : '')
}

/** The number of objects and arrays that are open before each token. */
const levelsOf = (tokens: Tokens): Int32Array => {
  let level = 0
  return Int32Array.from(tokens.starts, (start) => {
    const code = tokens.text.charCodeAt(start)
    if (isOpening(code)) return level++
    return isClosing(code) ? level-- : level
  })
}

export interface Kept {
  /** The tokens of the edited text. */
  text: string
  /** The part of the white space that is taken from the edited text: none, that between new tokens, or all. */
  taken: 'none' | 'part' | 'all'
}

/**
 * The stored text with the changes of `edited`. The bytes of every token that is in both, and of the white space between such
 * tokens, stay as they are stored. A text of one line stays one. Both must be JSON; otherwise `edited` comes back.
 */
export const keepLayout = (stored: string, edited: string): Kept => {
  if (!checkJson(edited).ok || !checkJson(stored).ok) return { text: edited, taken: 'all' }
  const before = tokensIn(stored)
  const after = tokensIn(edited)
  const numbered = numberTexts()
  const { matches, isCut } = matchLists(numbersOf(before, numbered), numbersOf(after, numbered))
  if (isCut) return { text: edited, taken: 'all' }
  const sources = new Int32Array(after.starts.length).fill(-1)
  matches.forEach((to, from) => {
    if (to !== -1) sources[to] = from
  })
  const style = lineStyle(before)
  const levels = levelsOf(before)
  /** The white space outside of the removed tokens: there is some on both of their sides. */
  const outer = (left: number, right: number): string => {
    const isOpen = isOpening(before.text.charCodeAt(before.starts[left - 1]!))
    const isLeft = levels[left] === levels[right] ? isOpen : levels[left]! < levels[right]!
    return spaceBefore(before, isLeft ? left : right)
  }
  let text = ''
  let taken: Kept['taken'] = 'none'
  for (let i = 0; i < after.starts.length; i++) {
    const token = tokenAt(after, i)
    const last = i === 0 ? '' : tokenAt(after, i - 1)
    const from = sources[i]!
    /** The stored token that follows the one before this token. */
    const behind = i === 0 ? 0 : sources[i - 1]! + 1
    const isBehindNew = i > 0 && behind === 0
    let space = ''
    if (from !== -1 && !isBehindNew) space = outer(behind, from)
    else if (style !== undefined && isBehindNew && (from === -1 || last === ',')) space = style(last)
    else if (from !== -1) space = spaceBefore(before, from)
    else if (token === ',' || token === ':') space = ''
    else if (!isBehindNew) space = spaceBefore(before, behind)
    else {
      space = spaceBefore(after, i)
      if (space !== '') taken = 'part'
    }
    text += space + token
  }
  return { text, taken }
}

/** True if two texts differ in white space only. */
export const hasSameTokens = (a: string, b: string): boolean => {
  let i = skipSpace(a, 0)
  let j = skipSpace(b, 0)
  while (i < a.length && j < b.length) {
    const iEnd = tokenEnd(a, i)
    const jEnd = tokenEnd(b, j)
    // A character that begins no token is one by itself.
    const [left, right] = [a.slice(i, Math.max(iEnd, i + 1)), b.slice(j, Math.max(jEnd, j + 1))]
    if (left !== right) return false
    i = skipSpace(a, i + left.length)
    j = skipSpace(b, j + right.length)
  }
  return i >= a.length && j >= b.length
}
