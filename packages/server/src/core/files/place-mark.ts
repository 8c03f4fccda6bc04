import { randomBytes } from 'node:crypto'

/** A mark is random: two places never have the same one by chance. */
export const newPlaceMark = (): string => randomBytes(16).toString('hex')

export const isPlaceMark = (text: string): boolean => /^[0-9a-f]{32}$/.test(text)
