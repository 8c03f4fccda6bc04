import {
  type ApiKeyRequest,
  endsOfNewKey,
  makeApiKey,
  parseExpiresAt,
  parseKeyDatabases,
  parseKeyKind,
  parseKeyName,
} from '../../core/api-keys/api-key.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import { type Access, callerOf, type OperatorAccess } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { presentNewApiKey } from './present-api-key.ts'

export const parseCreateApiKey = (members: Members, nowMs: number): ApiKeyRequest => {
  refuseUnknownMembers(members, ['kind', 'name', 'expiresAt', 'databases'])
  return {
    kind: parseKeyKind(members.kind),
    name: parseKeyName(members.name),
    expiresAtMs: parseExpiresAt(members.expiresAt, nowMs),
    databases: parseKeyDatabases(members.databases),
  }
}

/** Only this answer ever contains `text`, the key itself. The new key ends with the one that creates it, at the latest. */
export const createApiKey = async (
  access: Access | OperatorAccess,
  request: ApiKeyRequest,
  nowMs: number,
): Promise<{ apiKey: ApiKey; text: string }> => {
  const ends = endsOfNewKey(access.apiKey, request.expiresAtMs ?? null, nowMs)
  const { text, kept } = makeApiKey({ ...request, ...ends })
  return { apiKey: await access.engine.apiKeys.create(callerOf(access), kept, nowMs), text }
}

export const createApiKeyOperation = defineOperation({
  id: 'createApiKey',
  area: 'api-keys',
  summary: 'Create an API key',
  description:
    'The key is shown only in this answer: the store keeps its hash. A key with `expiresAt` creates keys that end with it at the latest: a later or absent `expiresAt` becomes its own.',
  keyNeeded: 'manage-keys',
  effect: 'writes',
  returns: 'The new key.',
  codes: ['invalid_name', 'reserved_name'],
  parse: (text, nowMs): ApiKeyRequest => parseCreateApiKey(parsePlainBody(text), nowMs),
  run: createApiKey,
  present: ({ apiKey, text }) => JSON.stringify(presentNewApiKey(apiKey, text)),
})
