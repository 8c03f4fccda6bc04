import { hash } from 'node:crypto'
import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { userBytesMax } from '../limits.ts'

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

export const hasControlCharacter = (text: string): boolean => controlCharacter.test(text)

/** Tells whether a text can be the name of a user. */
export const isUser = (text: string): boolean =>
  text !== '' && text.isWellFormed() && Buffer.byteLength(text) <= userBytesMax && !hasControlCharacter(text)

/** The name that an application has for a person. Nothing is folded: two texts are two users. */
export const parseUser = (value: unknown): string => {
  if (typeof value === 'string' && isUser(value)) return value
  throw new CubbyError(
    'invalid_request',
    `user is ${describeValue(value)}; it takes 1 to ${userBytesMax} bytes of UTF-8 without control characters.`,
    { field: 'user', hint: 'Give the id that this person has in your application.' },
  )
}

/** The name under which the store knows a user: 16 bytes of its SHA-256, in hex. */
export const hashUser = (user: string): string => hash('sha256', user, 'hex').slice(0, 32)

/** The part of a user token that the store confirms. */
export interface TokenMark {
  /** See `hashUser`. */
  userHash: string
  /** The user epoch when the token was made. */
  madeAtEpoch: number
  /** For a token that was exchanged, the `epoch` of its issuer then; null for one that was made with a secret key. */
  issuerEpoch: number | null
}
