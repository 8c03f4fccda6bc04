import type { CreateKeyRequest, CreateKeyResponse, KeyMetadata, ListKeysResponse } from '@cubby/client'
import { keyDatabasesMax, keyNameCharactersMax } from '../../core/limits.ts'
import { closed, milliseconds, nextCursor, nullable, objectOf, ref, type Schema } from '../schema.ts'

const keyFields = {
  id: { type: 'string', description: 'Names the key where it is revoked.' },
  kind: { type: 'string', enum: ['secret', 'public'] },
  name: nullable('string', {}),
  masked: { type: 'string', description: 'The prefix and the last four characters, as `svc_live_****wxyz`.' },
  databases: nullable('array', { items: ref('Name'), description: 'The databases it is limited to; null: all.' }),
  createdAt: milliseconds('When the key was made.'),
  expiresAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds, or null.' }),
} satisfies Record<string, Schema>

export const apiKeySchemas = {
  CreateKeyRequest: closed(
    objectOf<CreateKeyRequest>('What a key is to be.', ['kind'], {
      kind: { type: 'string', enum: ['secret', 'public'], description: 'A public key reads; a secret key does all.' },
      name: nullable('string', { minLength: 1, maxLength: keyNameCharactersMax, description: 'For people.' }),
      expiresAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds, in the future.' }),
      databases: nullable('array', {
        items: ref('Name'),
        minItems: 1,
        maxItems: keyDatabasesMax,
        description: 'The databases it is limited to; absent or null: all of the organization.',
      }),
    }),
  ),
  CreateKeyResponse: objectOf<CreateKeyResponse>(
    'A new key. `key` is shown this once.',
    ['id', 'kind', 'name', 'key', 'masked', 'databases', 'createdAt', 'expiresAt'],
    {
      ...keyFields,
      key: { type: 'string', pattern: '^svc_(live|pub)_[0-9A-Za-z]{38}$', description: 'The key itself. Keep it now.' },
    },
  ),
  Key: objectOf<KeyMetadata>(
    'A key as it is listed.',
    ['id', 'kind', 'name', 'masked', 'databases', 'status', 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    {
      ...keyFields,
      status: { type: 'string', enum: ['active', 'expired', 'revoked'] },
      lastUsedAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds; may lag by a minute.' }),
      revokedAt: nullable('integer', { format: 'int64', description: 'Epoch milliseconds, or null.' }),
    },
  ),
  ListKeysResponse: objectOf<ListKeysResponse>('Keys, newest first.', ['keys', 'cursor'], {
    keys: { type: 'array', items: ref('Key') },
    cursor: nextCursor,
  }),
} satisfies Record<string, Schema>
