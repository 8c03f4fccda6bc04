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
import type { ApiKey } from '../../store/api-keys.ts'
import { type Access, callerOf, type OperatorAccess } from '../access.ts'
import { scopeOfOrganization, shownOnce, writeOnce } from '../once.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { backend, createdBackend, createdWeb, web } from './examples.ts'
import { presentNewApiKey } from './present-api-key.ts'
import { apiKeySchemas } from './schemas.ts'

export const parseCreateApiKey = (members: Members, nowMs: number): ApiKeyRequest => {
  refuseUnknownMembers(members, ['kind', 'name', 'expiresAt', 'databases'])
  return {
    kind: parseKeyKind(members.kind),
    name: parseKeyName(members.name),
    expiresAtMs: parseExpiresAt(members.expiresAt, nowMs),
    databases: parseKeyDatabases(members.databases),
  }
}

/**
 * Only this response ever contains `text`, the key itself; it is empty if the request is a repeated one. The new key ends with the one that creates it, at the latest.
 */
export const createApiKey = async (
  access: Access | OperatorAccess,
  request: ApiKeyRequest,
  nowMs: number,
): Promise<{ apiKey: ApiKey; text: string; created: true }> => {
  const ends = endsOfNewKey(access.apiKey, request.expiresAtMs ?? null, nowMs)
  const { text, kept } = makeApiKey({ ...request, ...ends })
  const { apiKeys } = access.engine
  const scope = scopeOfOrganization(callerOf(access).orgId)
  const apiKey = await writeOnce(access, scope, (caller) => apiKeys.create(caller, kept, nowMs))
  return { apiKey, text: shownOnce(access, text), created: true }
}

export const createApiKeyOperation = defineOperation({
  id: 'createApiKey',
  area: 'api-keys',
  summary: 'Create an API key',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/api/keys', body: { schema: 'CreateKeyRequest', required: true } },
  idempotencyScope: 'organization',
  command: 'keys create --org {org} --kind {kind}',
  read: ({ members }, nowMs) => parseCreateApiKey(members, nowMs),
  run: createApiKey,
  present: ({ apiKey, text }) => JSON.stringify(presentNewApiKey(apiKey, text)),
  describe: () => ({
    description:
      'The key is shown only in this answer: the store keeps its hash. A key with `expiresAt` creates keys that end with it at the latest: a later or absent `expiresAt` becomes its own.',
    returns: 'The new key.',
    codes: ['invalid_name', 'reserved_name'],
    responses: { created: 'The new key.' },
    input: inputOf(apiKeySchemas.CreateKeyRequest, {}),
    output: ref('CreateKeyResponse'),
    replayedOutput: ref('RepeatedKeyResponse'),
    client: { on: 'keys', method: 'create', result: 'created' },
    examples: [
      {
        name: 'secret',
        summary: 'A secret key for all databases',
        input: backend,
        output: createdBackend,
      },
      {
        name: 'limited',
        summary: 'A public key for one database, until 2100',
        input: web,
        output: createdWeb,
      },
      {
        name: 'noSuchKind',
        summary: 'An unknown kind',
        input: { kind: 'admin' },
        error: {
          code: 'invalid_request',
          message: 'kind is "admin"; it takes "secret" or "public".',
          field: 'kind',
          hint: 'A public key reads, a secret key reads and writes.',
        },
      },
      {
        name: 'badName',
        summary: 'An invalid database name',
        input: { kind: 'public', databases: ['App'] },
        error: {
          code: 'invalid_name',
          message: 'databases[0] is "App"; a name matches [a-z0-9_-]{1,64}.',
          field: 'databases[0]',
          hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-", for example "app".',
        },
      },
      {
        name: 'reservedName',
        summary: 'A reserved database name',
        input: { kind: 'public', databases: ['_app'] },
        error: {
          code: 'reserved_name',
          message: 'databases[0] is "_app"; names that start with "_" are reserved.',
          field: 'databases[0]',
          hint: 'Drop the leading "_": "app".',
        },
      },
    ],
  }),
})
