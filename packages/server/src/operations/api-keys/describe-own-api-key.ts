import type { ApiKey } from '../../store/api-keys.ts'
import type { Access } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { presentOwnApiKey } from './present-api-key.ts'

interface OwnApiKey {
  apiKey: ApiKey
  /** The name of the key's organization. */
  organization: string
}

const describeOwnApiKey = async ({ engine, apiKey }: Access): Promise<OwnApiKey> => {
  const { orgId, seq } = apiKey
  // Read as the listing reads it: `apiKey` may be from a cache, and its `lastUsedAt` would lag for longer than a minute.
  const [listed] = await engine.apiKeys.list(orgId, seq + 1, 1)
  const organization = await engine.organizations.findById(orgId)
  return { apiKey: listed!, organization: organization!.name }
}

export const describeOwnApiKeyOperation = defineOperation({
  id: 'describeOwnApiKey',
  area: 'api-keys',
  summary: 'Describe the calling API key',
  keyNeeded: 'read',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/api/keys/self' },
  run: describeOwnApiKey,
  present: (own, nowMs) => JSON.stringify(presentOwnApiKey(own, nowMs)),
  describe: () => ({
    title: 'Describe the calling key',
    description:
      'The API key that the request is sent with: its kind, its limits and its organization. Every key may ask, public and limited ones too.',
    returns: 'The key, as in the list of keys, and the name of its organization.',
    codes: [],
    input: inputOf({}, {}),
    output: ref('OwnKey'),
    client: { on: 'keys', method: 'self', result: 'key' },
    examples: [
      {
        name: 'own',
        summary: 'The key of this request',
        input: {},
        output: {
          id: 'key_2cH8kP4rS6aWd0JvXn5y',
          kind: 'secret',
          name: null,
          masked: 'svc_live_****mnop',
          databases: null,
          status: 'active',
          createdAt: 1767139200000,
          lastUsedAt: 1767398340000,
          expiresAt: null,
          revokedAt: null,
          rolledFrom: null,
          rolledTo: null,
          organization: 'default',
        },
      },
    ],
  }),
})
