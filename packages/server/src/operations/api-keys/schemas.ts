import type {
  CreateKeyRequest,
  CreateKeyResponse,
  KeyMetadata,
  ListKeysResponse,
  OwnKey,
  RepeatedKeyResponse,
  RollKeyRequest,
  RollKeyResponse,
} from '@cubbydb/client'
import { keyKindRule } from '../../core/api-keys/api-key.ts'
import { keyDatabasesMax, keyNameCharactersMax } from '../../core/limits.ts'
import {
  closed,
  exactIntegers,
  milliseconds,
  nextCursor,
  nullable,
  objectOf,
  ref,
  type Schema,
  times,
} from '../schema.ts'

const keyFields = {
  id: { type: 'string', description: 'Identifies the key, for example to revoke it.' },
  kind: keyKindRule,
  name: nullable('string', {}),
  masked: { type: 'string', description: 'The prefix and the last four characters: `svc_live_****wxyz`.' },
  databases: nullable('array', { items: ref('Name'), description: 'The databases that the key may use; null: all.' }),
  createdAt: milliseconds('When the key was created.'),
  expiresAt: nullable('integer', { ...times, description: 'Epoch milliseconds, or null.' }),
} satisfies Record<string, Schema>

export const apiKeySchemas = {
  CreateKeyRequest: closed(
    objectOf<CreateKeyRequest>('The properties of the new key.', ['kind'], {
      kind: {
        ...keyKindRule,
        description: 'A public key reads; a secret key reads and writes.',
      },
      name: nullable('string', { minLength: 1, maxLength: keyNameCharactersMax, description: 'A label for people.' }),
      expiresAt: nullable('integer', {
        ...times,
        description: 'Epoch milliseconds, in the future. If the calling key ends earlier, the new one ends with it.',
      }),
      databases: nullable('array', {
        items: ref('Name'),
        minItems: 1,
        maxItems: keyDatabasesMax,
        description: 'The databases that the key may use; absent or null: all databases of the organization.',
      }),
    }),
  ),
  CreateKeyResponse: objectOf<CreateKeyResponse>(
    'A new key. `key` is shown only once.',
    ['id', 'kind', 'name', 'key', 'masked', 'databases', 'createdAt', 'expiresAt'],
    {
      ...keyFields,
      key: {
        type: 'string',
        pattern: '^svc_(live|pub)_[0-9A-Za-z]{38}$',
        description: 'The key itself. Store it now: it is not shown again.',
      },
    },
  ),
  RepeatedKeyResponse: objectOf<RepeatedKeyResponse>(
    'The key that an earlier request with the same idempotency key made, without `key`.',
    ['id', 'kind', 'name', 'masked', 'databases', 'createdAt', 'expiresAt', 'hint'],
    {
      ...keyFields,
      hint: { type: 'string', description: 'Says that the key itself was shown once.' },
      rolledFrom: { type: 'string', description: 'The id of the old key, if the key was made by rolling.' },
    },
  ),
  RollKeyRequest: closed(
    objectOf<RollKeyRequest>('When the old key ends.', [], {
      expiresAt: {
        type: 'integer',
        ...exactIntegers,
        description:
          'The end of the old key in epoch milliseconds, at most 366 days ahead; 24 hours from now if absent. If it is not in the future, the old key is revoked. An earlier end of its own stays.',
      },
    }),
  ),
  Key: objectOf<KeyMetadata>(
    'A key without its text.',
    [
      'id',
      'kind',
      'name',
      'masked',
      'databases',
      'status',
      'createdAt',
      'lastUsedAt',
      'expiresAt',
      'revokedAt',
      'rolledFrom',
      'rolledTo',
    ],
    {
      ...keyFields,
      status: { type: 'string', enum: ['active', 'expired', 'revoked'] },
      lastUsedAt: nullable('integer', { ...times, description: 'Epoch milliseconds; may lag by a minute.' }),
      revokedAt: nullable('integer', { ...times, description: 'Epoch milliseconds, or null.' }),
      rolledFrom: nullable('string', { description: 'The id of the key that was rolled into this one.' }),
      rolledTo: nullable('string', { description: 'The id of the key that this one was rolled into.' }),
      link: {
        type: 'boolean',
        enum: [true],
        description: 'The key was made for a sign-in link of the console, by the operator. Other keys do not have it.',
      },
    },
  ),
  KeyList: objectOf<ListKeysResponse>('Keys, newest first.', ['keys', 'cursor'], {
    keys: { type: 'array', items: ref('Key') },
    cursor: nextCursor,
  }),
} satisfies Record<string, Schema>

const { Key, CreateKeyResponse: NewKey } = apiKeySchemas
const besideNew = objectOf<Omit<RollKeyResponse, keyof CreateKeyResponse>>(
  'The new key. `key` is shown only once.',
  ['rolledFrom'],
  {
    rolledFrom: { type: 'string', description: 'The id of the old key.' },
  },
)
const beside = objectOf<Omit<OwnKey, keyof KeyMetadata>>('The calling key.', ['organization'], {
  organization: { type: 'string', description: 'The name of the organization that the key belongs to.' },
})

/** A key as it is listed, with more members beside, in one flat object. */
export const ownKeySchemas = {
  RollKeyResponse: {
    ...besideNew,
    properties: { ...NewKey.properties, ...besideNew.properties },
    required: [...NewKey.required!, ...besideNew.required!],
  },
  OwnKey: {
    ...beside,
    properties: { ...Key.properties, ...beside.properties },
    required: [...Key.required!, ...beside.required!],
  },
} satisfies Record<string, Schema>
