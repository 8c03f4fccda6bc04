import {
  type ApiKeyRequest,
  makeApiKey,
  parseExpiresAt,
  parseKeyDatabases,
  parseKeyKind,
  parseKeyName,
} from '../../core/api-keys/api-key.ts'
import { decodeListCursor, encodeListCursor } from '../../core/cursor.ts'
import { CubbyError } from '../../core/errors.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import type { ApiKey, Caller } from '../../store/api-keys.ts'
import type { Engine } from '../../store/engine.ts'

export const parseCreateApiKey = (members: Members, nowMs: number): ApiKeyRequest => {
  refuseUnknownMembers(members, ['kind', 'name', 'expiresAt', 'databases'])
  return {
    kind: parseKeyKind(members.kind),
    name: parseKeyName(members.name),
    expiresAtMs: parseExpiresAt(members.expiresAt, nowMs),
    databases: parseKeyDatabases(members.databases),
  }
}

/** `text` is shown in this one answer and nowhere again. */
export const createApiKey = async (
  engine: Engine,
  caller: Caller,
  request: ApiKeyRequest,
  nowMs: number,
): Promise<{ apiKey: ApiKey; text: string }> => {
  const { text, kept } = makeApiKey(request)
  return { apiKey: await engine.apiKeys.create(caller, kept, nowMs), text }
}

export const listApiKeys = async (
  engine: Engine,
  orgId: number,
  options: { limit: number; cursor: string | undefined },
): Promise<{ keys: ApiKey[]; cursor: string | null }> => {
  const { limit, cursor } = options
  const before =
    cursor === undefined ? undefined : (decodeListCursor(engine.cursorSeal, cursor, 'keys', ['number'])[0] as number)
  const found = await engine.apiKeys.list(orgId, before, limit + 1)
  const keys = found.slice(0, limit)
  return { keys, cursor: found.length > limit ? encodeListCursor(engine.cursorSeal, 'keys', [keys.at(-1)!.seq]) : null }
}

export const revokeApiKey = async (engine: Engine, caller: Caller, id: string, nowMs: number): Promise<ApiKey> => {
  const revoked = await engine.apiKeys.revoke(caller, id, nowMs)
  if (revoked !== undefined) return revoked
  throw new CubbyError('key_not_found', 'The organization has no API key of that id.', {
    hint: 'Ids are listed by GET /api/keys; they start with "key_".',
  })
}
