import { randomFillSync } from 'node:crypto'

export const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Random bytes in advance: one call for many texts. A byte that was used is wiped. */
const pool = Buffer.alloc(4_096)
let used = pool.length

const randomByte = (): number => {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const byte = pool[used]!
  pool[used++] = 0
  return byte
}

export const randomBase62 = (length: number): string => {
  let text = ''
  while (text.length < length) {
    const byte = randomByte()
    // 248 is the largest multiple of 62 that fits a byte; higher values would make the first digits more likely.
    if (byte < 248) text += base62Alphabet[byte % 62]
  }
  return text
}
