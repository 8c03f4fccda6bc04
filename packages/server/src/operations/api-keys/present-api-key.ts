import type { CreateKeyResponse, KeyMetadata, OwnKey, RollKeyResponse } from '@cubbydb/client'
import { maskApiKey } from '../../core/api-keys/api-key.ts'
import type { ApiKey } from '../../store/api-keys.ts'

/** A key that is revoked and expired counts as revoked, as in authentication. */
const keyStatus = (key: ApiKey, nowMs: number): 'active' | 'expired' | 'revoked' => {
  if (key.revokedAtMs !== null) return 'revoked'
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? 'expired' : 'active'
}

export const presentApiKey = (key: ApiKey, nowMs: number): KeyMetadata => ({
  id: key.id,
  kind: key.kind,
  name: key.name,
  masked: maskApiKey(key.kind, key.lastFour),
  databases: key.databases,
  status: keyStatus(key, nowMs),
  createdAt: key.createdAtMs,
  lastUsedAt: key.lastUsedAtMs,
  expiresAt: key.expiresAtMs,
  revokedAt: key.revokedAtMs,
  rolledFrom: key.rolledFrom,
  rolledTo: key.rolledTo,
  ...(key.link !== null && { link: true as const }),
})

/** One flat object: the listing's record, and the organization. */
export const presentOwnApiKey = (own: { apiKey: ApiKey; organization: string }, nowMs: number): OwnKey => ({
  ...presentApiKey(own.apiKey, nowMs),
  organization: own.organization,
})

type NewKey = Omit<CreateKeyResponse, 'key'> & ({ key: string } | { hint: string })

const wasShown = { hint: 'The key itself was shown once, in the first answer. Roll the key if that answer is lost.' }

/** Only this answer, and that of a roll, contain the key itself: a repeated request gets a hint instead. */
export const presentNewApiKey = (key: ApiKey, text: string): NewKey => ({
  id: key.id,
  kind: key.kind,
  name: key.name,
  ...(text === '' ? wasShown : { key: text }),
  masked: maskApiKey(key.kind, key.lastFour),
  databases: key.databases,
  createdAt: key.createdAtMs,
  expiresAt: key.expiresAtMs,
})

export const presentRolledApiKey = (key: ApiKey, text: string): NewKey & Pick<RollKeyResponse, 'rolledFrom'> => ({
  ...presentNewApiKey(key, text),
  rolledFrom: key.rolledFrom!,
})
