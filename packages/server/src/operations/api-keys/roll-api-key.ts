import { makeApiKey } from '../../core/api-keys/api-key.ts'
import { parseOldEnd } from '../../core/api-keys/roll-api-key.ts'
import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import { type Access, callerOf, type OperatorAccess } from '../access.ts'
import { scopeOfOrganization, shownOnce, writeOnce } from '../once.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { createBackend, createdBackend, rollBackend, rolledBackend } from './examples.ts'
import { presentRolledApiKey } from './present-api-key.ts'
import { keyNotFound } from './revoke-api-key.ts'
import { apiKeySchemas } from './schemas.ts'

interface RollApiKeyInput {
  id: string
  /** The end of the old key. It is revoked if this is not in the future. */
  oldEndMs: number
}

const notActive = ({ revokedAtMs, rolledTo }: ApiKey): CubbyError => {
  const state =
    revokedAtMs !== null ? 'has been revoked' : rolledTo !== null ? 'has been rolled already' : 'has expired'
  return new CubbyError('key_not_active', `The API key ${state}.`, {
    hint:
      rolledTo === null
        ? ['Create another key: ', call('createApiKey'), '.']
        : [`It was rolled into ${rolledTo}: `, call('rollApiKey', { id: rolledTo }), '.'],
  })
}

/** Only this response ever contains `text`, the new key itself; it is empty if the request is a repeated one. */
export const rollApiKey = async (
  access: Access | OperatorAccess,
  { id, oldEndMs }: RollApiKeyInput,
  nowMs: number,
): Promise<{ apiKey: ApiKey; text: string; created: true }> => {
  const { apiKeys } = access.engine
  const caller = callerOf(access)
  const old = await apiKeys.findById(id)
  if (old?.orgId !== caller.orgId) throw keyNotFound()
  const { text, kept } = makeApiKey({ kind: old.kind, name: old.name, databases: old.databases })
  const scope = scopeOfOrganization(caller.orgId)
  const roll = { id, oldEndMs, key: kept }
  const result = await writeOnce(access, scope, (author) => apiKeys.roll(author, roll, nowMs))
  if (result.outcome === 'missing') throw keyNotFound()
  if (result.outcome === 'inactive') throw notActive(result.old)
  return { apiKey: result.apiKey, text: shownOnce(access, text), created: true }
}

const { id } = createdBackend

export const rollApiKeyOperation = defineOperation({
  id: 'rollApiKey',
  area: 'api-keys',
  summary: 'Replace an API key by a new one like it',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'destroys',
  route: { method: 'POST', path: '/api/keys/:id/roll', body: { schema: 'RollKeyRequest' } },
  idempotencyScope: 'organization',
  command: 'keys roll {id} --org {org}',
  read({ members }, nowMs) {
    refuseUnknownMembers(members, ['expiresAt'])
    return { oldEndMs: parseOldEnd(members.expiresAt, nowMs) }
  },
  run: rollApiKey,
  present: ({ apiKey, text }) => JSON.stringify(presentRolledApiKey(apiKey, text)),
  describe: () => ({
    title: 'Roll an API key',
    description:
      'Creates a key of the same kind, name and databases, and ends the old one after a while in which both work: 24 hours, or at `expiresAt`. A time that is not in the future revokes the old key. If the old key has an end, the new one gets as much time as the old one had from its creation on, but it ends with the calling key at the latest. A secret key that is not limited to databases may roll itself. Signed URLs of the old key end with it. Once the answer is sent, this holds on every process.',
    returns: 'The new key.',
    codes: ['invalid_key', 'key_not_found', 'key_not_active'],
    responses: { created: 'The new key.' },
    input: inputOf(
      {},
      {
        id: { ...ref('RecordKeyPart'), description: 'The id of the old key, from the list of keys.' },
        ...apiKeySchemas.RollKeyRequest.properties,
      },
      ['id'],
    ),
    output: ref('RollKeyResponse'),
    replayedOutput: ref('RepeatedKeyResponse'),
    client: { on: 'keys', method: 'roll', result: 'rolled', args: ({ id, ...options }) => [id, options] },
    examples: [
      {
        name: 'roll',
        summary: 'Roll a key',
        given: [createBackend],
        input: { id },
        output: rolledBackend,
      },
      {
        name: 'atOnce',
        summary: 'The old key is revoked at once',
        given: [createBackend],
        input: { id, expiresAt: 0 },
        output: rolledBackend,
      },
      {
        name: 'again',
        summary: 'A key that was rolled before',
        given: [createBackend, rollBackend],
        input: { id },
        error: {
          code: 'key_not_active',
          message: 'The API key has been rolled already.',
          hint: [`It was rolled into ${rolledBackend.id}: `, call('rollApiKey', { id: rolledBackend.id }), '.'],
        },
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
      {
        name: 'tooFarAhead',
        summary: 'An end that is too far ahead',
        given: [createBackend],
        input: { id, expiresAt: 4102444800000 },
        error: {
          code: 'invalid_request',
          message: 'expiresAt is more than 366 days ahead.',
          field: 'expiresAt',
          hint: 'Give a sooner end for the old key, or leave it out: the default is 24 hours from now.',
        },
      },
    ],
  }),
})
