import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import { type Access, callerOf, type OperatorAccess } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { createWeb, id, listedWeb } from './examples.ts'
import { presentApiKey } from './present-api-key.ts'

export const keyNotFound = (): CubbyError =>
  new CubbyError('key_not_found', 'The organization has no API key with that id.', {
    hint: ['Ids are listed by ', call('listApiKeys'), '; they start with "key_".'],
  })

interface RevokeApiKeyInput {
  id: string
}

export const revokeApiKey = async (
  access: Access | OperatorAccess,
  { id }: RevokeApiKeyInput,
  nowMs: number,
): Promise<ApiKey> => {
  const revoked = await access.engine.apiKeys.revoke(callerOf(access), id, nowMs)
  if (revoked !== undefined) return revoked
  throw keyNotFound()
}

export const revokeApiKeyOperation = defineOperation({
  id: 'revokeApiKey',
  area: 'api-keys',
  summary: 'Revoke an API key permanently',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'destroys',
  route: { method: 'DELETE', path: '/api/keys/:id' },
  command: 'keys revoke {id} --org {org}',
  run: revokeApiKey,
  present: (key, nowMs) => JSON.stringify(presentApiKey(key, nowMs)),
  describe: () => ({
    title: 'Revoke an API key',
    description:
      'Revocation is permanent. Once the answer is sent, every request with the key fails with `revoked_api_key`. Revoking a key again changes nothing.',
    returns: 'The revoked key.',
    codes: ['invalid_key', 'key_not_found'],
    input: inputOf({}, { id: { ...ref('RecordKeyPart'), description: 'The id of the key, from the list of keys.' } }, [
      'id',
    ]),
    output: ref('Key'),
    client: { on: 'keys', method: 'revoke', result: 'revoked', args: ({ id }) => [id] },
    examples: [
      {
        name: 'revoke',
        summary: 'Revoke a key',
        given: [createWeb],
        input: { id },
        output: { ...listedWeb, status: 'revoked', revokedAt: 1767484800000 },
      },
      {
        name: 'unknown',
        summary: 'No such key',
        input: { id: 'key_00000000000000000000' },
        error: {
          code: 'key_not_found',
          message: 'The organization has no API key with that id.',
          hint: ['Ids are listed by ', call('listApiKeys'), '; they start with "key_".'],
        },
      },
    ],
  }),
})
