import { CubbyError } from '../errors.ts'

// Only user epochs decide what has ended a token: clocks differ between processes, and may be set.

/** What the store has of the user and the issuer of a token. */
interface TokenFacts {
  /** The epoch of the last revocation of its user; 0 without one. */
  revokedEpoch: number
  /** False if the token is from an issuer that was changed or deleted since. */
  issuerIsThere: boolean
}

/** Tokens with a lower epoch have ended. It is the same for all tokens of a user from one issuer. */
export const endEpochOf = ({ revokedEpoch, issuerIsThere }: TokenFacts): number =>
  issuerIsThere ? revokedEpoch : Number.POSITIVE_INFINITY

type TokenState = 'valid' | 'revoked' | 'forgotten'

/** `sweptEpoch`: the highest epoch of a revocation that was swept. */
export const stateOfToken = (madeAtEpoch: number, endEpoch: number, sweptEpoch: number): TokenState => {
  if (endEpoch > madeAtEpoch) return 'revoked'
  return madeAtEpoch < sweptEpoch ? 'forgotten' : 'valid'
}

/** Throws unless a write with the token may be applied. */
export const requireValidToken = (state: TokenState): void => {
  if (state === 'revoked') throw new CubbyError('revoked_token', 'The user token has been revoked.')
  if (state === 'forgotten') throw new CubbyError('expired_token', 'The user token has expired.')
}

/**
 * The user epoch after a change. It is the time, unless that is not above the last one: so a store that went back to a backup
 * does not use the epochs of its lost changes again.
 */
export const nextUserEpoch = (epoch: number, nowMs: number): number => Math.max(epoch + 1, nowMs)

/**
 * The time until which login tokens of a user are refused. `sweptAtMs` is that of the last revocation that was swept, of any user. One
 * in the future was made while a clock was ahead: it must not lock out everybody until then.
 */
export const refusedUntilMs = (ownMs: number, sweptAtMs: number, nowMs: number): number | undefined =>
  Math.max(ownMs, sweptAtMs <= nowMs ? sweptAtMs : 0) || undefined
