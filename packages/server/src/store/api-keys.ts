import type { KeyKind, NewApiKey } from '../core/api-keys/api-key.ts'
import type { Awaitable } from '../core/awaitable.ts'

export interface ApiKey {
  /** The key's public identifier, `key_…`. */
  id: string
  /** Grows with every key made, in any organization: the order of listings. */
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
  /** What the engine knew of the registry when it handed this out; opaque to everyone else. */
  stamp: number
}

/** Who changes something. An operator's command has no API key. */
export interface Caller {
  orgId: number
  apiKey: ApiKey | undefined
}

export type KeyUse = { id: string; atMs: number }

export interface ApiKeys {
  /** By the text of the key, revoked and expired ones too. Does not hash a text it has seen. */
  find(text: string): Awaitable<ApiKey | undefined>
  create(caller: Caller, key: NewApiKey, nowMs: number): Promise<ApiKey>
  /** Newest first, those before `beforeSeq`, at most `limit`. */
  list(orgId: number, beforeSeq: number | undefined, limit: number): Awaitable<ApiKey[]>
  /** The revoked key; undefined if the organization has none of that id. A second call changes nothing. */
  revoke(caller: Caller, id: string, nowMs: number): Promise<ApiKey | undefined>
  /** Raises `lastUsedAt`; an older instant never replaces a newer one. */
  noteUse(uses: KeyUse[]): Promise<void>
}
