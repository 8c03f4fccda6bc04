import type { KeyKind, LinkState, NewApiKey } from '../core/api-keys/api-key.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Grant, GrantIndex } from '../core/tokens/grants.ts'
import type { TokenMark } from '../core/tokens/user.ts'
import type { Once } from './idempotency.ts'

export interface ApiKey {
  /** The key's public identifier, `key_…`. */
  id: string
  /** Increases with every key that is created, in any organization. Listings are ordered by it. */
  seq: number
  orgId: number
  kind: KeyKind
  name: string | null
  lastFour: string
  databases: string[] | null
  createdAtMs: number
  lastUsedAtMs: number | null
  expiresAtMs: number | null
  revokedAtMs: number | null
  link: LinkState | null
  /** The id of the key that was rolled into this one. */
  rolledFrom: string | null
  /** The id of the key that this one was rolled into. */
  rolledTo: string | null
  /** The state of the engine's registry when it returned this key. Only the engine uses it. */
  epoch: number
  /** The user, if the caller has a user token that belongs to this key. Engines return keys without it. */
  user?: TokenUser
}

/** The user of a user token. */
export interface TokenUser {
  name: string
  grants: readonly Grant[]
  grantsOn: GrantIndex
  mark: TokenMark
  expiresAtMs: number
  /** Stands for the seq of the key in fair shares, where each user counts as a key. No key has it as its seq. */
  shareSeq: number
}

/** The number of the caller's share of everything that is shared fairly. */
export const shareOf = ({ seq, user }: Pick<ApiKey, 'seq' | 'user'>): number => user?.shareSeq ?? seq

/** The author of a change. An operator's command has no API key. */
export interface Caller {
  orgId: number
  apiKey: ApiKey | undefined
  /** The idempotency key of the request. */
  once?: Once
}

export type KeyUse = { id: string; atMs: number }

/** `key`: the new key; its ends are not set yet. `oldEndMs`: the old key is revoked if this is not in the future. */
export interface KeyRoll {
  id: string
  oldEndMs: number
  key: NewApiKey
}

export type RollResult =
  | { outcome: 'rolled'; apiKey: ApiKey }
  /** `old` is revoked, has expired or was rolled before. */
  | { outcome: 'inactive'; old: ApiKey }
  | { outcome: 'missing' }

export interface ApiKeys {
  /** Finds a key by its text; revoked and expired keys are found too. A text that was seen before is not hashed again. */
  find(text: string): Awaitable<ApiKey | undefined>
  /** Finds a key of any organization by its id, as `find` does: URLs name the key that signed them. */
  findById(id: string): Awaitable<ApiKey | undefined>
  /**
   * The key ends with the caller's at the latest. Only the first key with a `linkExpiresAtMs` that one caller creates gets it
   * instead, even if several are created at once.
   */
  create(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey>
  /** Returns at most `limit` keys with a lower seq than `beforeSeq`, newest first. */
  list(orgId: number, beforeSeq: number | undefined, limit: number): Awaitable<ApiKey[]>
  /** The revoked key; undefined if the organization has no key with that id. A second call changes nothing. */
  revoke(caller: Caller, id: string, nowMs: number): Promise<ApiKey | undefined>
  /**
   * Adds a key and ends the one with the id `id`, both or none: see core/api-keys/roll-api-key.ts. The new key ends with the
   * caller's at the latest. Of several calls for one key, one succeeds.
   */
  roll(caller: Caller, roll: KeyRoll, nowMs: number): Promise<RollResult>
  /** Raises `lastUsedAt`; an older time never replaces a newer one. */
  noteUse(uses: KeyUse[]): Promise<void>
}
