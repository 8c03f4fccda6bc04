import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parseKeyPart } from '../../core/records/record-key.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import { type Access, callerOf, type OperatorAccess } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { presentApiKey } from './present-api-key.ts'

export interface RevokeApiKeyInput {
  id: string
}

export const revokeApiKey = async (
  access: Access | OperatorAccess,
  { id }: RevokeApiKeyInput,
  nowMs: number,
): Promise<ApiKey> => {
  const revoked = await access.engine.apiKeys.revoke(callerOf(access), id, nowMs)
  if (revoked !== undefined) return revoked
  throw new CubbyError('key_not_found', 'The organization has no API key with that id.', {
    hint: ['Ids are listed by ', call('listApiKeys'), '; they start with "key_".'],
  })
}

export const revokeApiKeyOperation = defineOperation({
  id: 'revokeApiKey',
  area: 'api-keys',
  summary: 'Revoke an API key permanently',
  description:
    'Revocation is permanent. Once the answer is sent, every request with the key fails with `revoked_api_key`. Revoking a key again changes nothing.',
  keyNeeded: 'manage-keys',
  effect: 'destroys',
  returns: 'The revoked key.',
  codes: ['invalid_key', 'key_not_found'],
  parse(text): RevokeApiKeyInput {
    const members = parsePlainBody(text)
    refuseUnknownMembers(members, ['id'])
    return { id: parseKeyPart(members.id, 'id') }
  },
  run: revokeApiKey,
  present: (key, nowMs) => JSON.stringify(presentApiKey(key, nowMs)),
})
