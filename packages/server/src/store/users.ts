import type { Awaitable } from '../core/awaitable.ts'
import type { TokenMark } from '../core/tokens/user.ts'
import type { Caller } from './api-keys.ts'

export type { TokenMark } from '../core/tokens/user.ts'

/**
 * `revoked`: its user was revoked since, or its issuer was changed or deleted. `forgotten`: the token is older than revocations that
 * were swept; it has expired, unless the clock was set.
 */
export type TokenState = 'valid' | 'revoked' | 'forgotten'

export interface Issuer {
  orgId: number
  name: string
  /** JSON text: see core/issuers/issuer.ts. */
  declaration: string
  createdAtMs: number
  updatedAtMs: number
  /** The user epoch of its last change. No other issuer ever has the same. */
  epoch: number
}

/** An issuer to store. */
export interface IssuerToPut {
  name: string
  declaration: string
  /** No two issuers of an organization have the same. */
  identity: string
}

export type PutIssuerResult =
  /** `created` and `changed` are false if it was there with the same declaration: nothing was written. */
  | { outcome: 'stored'; issuer: Issuer; created: boolean }
  /** The organization has `issuersMax` others already. */
  | { outcome: 'tooMany' }
  /** The issuer `name` has the same identity. */
  | { outcome: 'taken'; name: string }

/**
 * What the store keeps for user tokens, which are not stored themselves: revoked users and issuers. Every revocation of a user and
 * every change of an issuer increments the user epoch of the store, a number of its own: the caches of API keys and tables stay.
 */
export interface Users {
  /**
   * The user epoch, for a token that is made now. A token that was valid at an epoch is valid as long as that does not move, until it
   * expires. Once a `revoke` is answered, every process returns a higher number than before it.
   * It may be read from a cache.
   */
  epoch(): Awaitable<number>
  /**
   * The state of a token. A revocation and a change of an issuer are known here as soon as a revoked key is to `ApiKeys.find`.
   * Cached, so that the next call for the same user costs nothing.
   */
  stateOf(orgId: number, mark: TokenMark): Awaitable<TokenState>
  /**
   * Ends all tokens of the user that were made before. When it resolves, no process accepts them and no write with them is applied,
   * as after `ApiKeys.revoke`. Returns the time of the revocation, which is never before that of an earlier one.
   */
  revoke(caller: Caller, userHash: string, nowMs: number): Promise<number>
  /**
   * The time until which login tokens of the user are refused: that of the user's revocation, or that of the last revocation that was
   * swept, whatever is later; not if that is ahead of the clock. Undefined if there is none. Never from a cache.
   */
  refusedUntilMs(orgId: number, userHash: string, nowMs: number): Awaitable<number | undefined>
  /** The issuers of the organization by name, never from a cache that a change has made stale. At most `issuersMax`. */
  listIssuers(orgId: number): Awaitable<Issuer[]>
  /** A put that changes nothing writes nothing. Another one ends the tokens of the issuer, as `revoke` does. */
  putIssuer(caller: Caller, issuer: IssuerToPut, nowMs: number): Promise<PutIssuerResult>
  /** False if there is none with that name. */
  deleteIssuer(caller: Caller, name: string): Promise<boolean>
}
