import { skipString as skipClosedString } from '../../../server/src/core/text/json-scan.ts'

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
