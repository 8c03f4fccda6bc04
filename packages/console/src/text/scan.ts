import { skipString as skipClosedString, skipSpace } from '../../../server/src/core/text/json-scan.ts'

// Steps over JSON text that is known to be valid. Nothing is built and nothing is checked; on other text every step still
// ends, at the end of the text at the latest.

const quote = 0x22

/** The offset after the string that opens at `at`. */
export const skipString = (text: string, at: number): number => {
  const end = skipClosedString(text, at)
  return end === -1 ? text.length : end
}

/** `{` and `[` differ by one bit, and so do `}` and `]`. */
export const isOpening = (code: number): boolean => (code | 0x20) === 0x7b
export const isClosing = (code: number): boolean => (code | 0x20) === 0x7d

/** The offset after a number, true, false or null: the next white space, mark, quote or the end. */
export const skipScalar = (text: string, at: number): number => {
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || code === 0x2c || code === 0x3a || code === quote || isOpening(code) || isClosing(code)) break
  }
  return at
}

/** The end of the value that starts at `at`. There is no recursion, so the depth has no limit. */
export const skipValue = (text: string, at: number): number => {
  let level = 0
  do {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = skipString(text, at)
    } else if (isOpening(code)) {
      level++
      at++
    } else if (level === 0) {
      return skipScalar(text, at)
    } else {
      if (isClosing(code)) level--
      at++
    }
  } while (level > 0 && at < text.length)
  return at
}

export interface Span {
  start: number
  end: number
}

/** A member with its name decoded. The span is that of its value. */
export interface Member extends Span {
  name: string
  /** The source of the name begins here. */
  nameStart: number
}

/** The string whose source stands at this place, quotes included. What is no JSON string is returned as it stands. */
export const decodeString = (text: string, start: number, end: number): string => {
  const raw = text.slice(start + 1, end - 1)
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    return raw
  }
}

/** The members of the object that starts at `at`, in their order, duplicates included. Of another value: none. */
export const membersOf = (text: string, at = 0): Member[] => {
  const members: Member[] = []
  const open = skipSpace(text, at)
  if (text[open] !== '{') return members
  let next = skipSpace(text, open + 1)
  while (text[next] === '"') {
    const nameEnd = skipString(text, next)
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = skipValue(text, start)
    members.push({ name: decodeString(text, next, nameEnd), nameStart: next, start, end })
    next = skipSpace(text, end)
    if (text[next] === ',') next = skipSpace(text, next + 1)
  }
  return members
}

/** The value of the member with this name. Of several the last counts, as it does for the server's indices. */
export const memberNamed = (text: string, name: string, at = 0): Span | undefined => {
  const found = membersOf(text, at).findLast((member) => member.name === name)
  return found && { start: found.start, end: found.end }
}
