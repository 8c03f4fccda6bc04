import { randomBytes } from 'node:crypto'

export const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const randomBase62 = (length: number): string => {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 that fits a byte; higher values would make the first digits more likely.
      if (byte < 248 && text.length < length) text += base62Alphabet[byte % 62]
    }
  }
  return text
}
