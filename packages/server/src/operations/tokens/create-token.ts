import { tokenSecondsDefault } from '../../core/limits.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { readScalar } from '../../core/scalar.ts'
import { type Grant, parseGrants } from '../../core/tokens/grants.ts'
import { parseUser } from '../../core/tokens/user.ts'
import { encodeUserToken } from '../../core/tokens/user-token.ts'
import type { Access } from '../access.ts'
import { refuseOutOfScope } from '../authorize.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { ada, adasGrants, adasToken, writtenGrant } from './examples.ts'
import { expiresInRule, tokenSchemas } from './schemas.ts'
import { presentToken, type TokenOutput } from './token-output.ts'

interface CreateTokenInput {
  user: string
  grants: Grant[]
  seconds: number
}

/** Nothing is stored. The epoch is read first: a revocation that is answered meanwhile ends this token too. */
const createToken = async (
  { engine, apiKey }: Access,
  { user, grants, seconds }: CreateTokenInput,
  nowMs: number,
): Promise<TokenOutput> => {
  const madeAtEpoch = await engine.users.epoch()
  refuseOutOfScope(apiKey, grants)
  const { tokenSeal } = await engine.secrets.at(nowMs)
  const expiresAtMs = Math.min(nowMs + seconds * 1000, apiKey.expiresAtMs ?? Number.POSITIVE_INFINITY)
  const content = { keyId: apiKey.id, expiresAtMs, madeAtEpoch, issuerEpoch: null, user, grants }
  return { token: encodeUserToken(tokenSeal, content), user, grants, expiresAtMs, created: true }
}

export const createTokenOperation = defineOperation({
  id: 'createToken',
  area: 'tokens',
  summary: 'Make a token for one user',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'reads',
  route: { method: 'POST', path: '/api/tokens', body: { schema: 'CreateTokenRequest', required: true } },
  command: 'tokens create {user}',
  read({ members }) {
    refuseUnknownMembers(members, ['user', 'grants', 'expiresIn'])
    return {
      user: parseUser(members.user),
      grants: parseGrants(members.grants),
      seconds: readScalar(expiresInRule, members.expiresIn, 'expiresIn') ?? tokenSecondsDefault,
    }
  },
  run: createToken,
  present: presentToken,
  describe: () => ({
    title: 'Make a user token',
    description:
      'With a user token, the browser or the phone of one person calls the API directly, for what its grants name and nothing else. Everything else is `not_granted`, whatever exists. The token is not stored; it belongs to the API key that made it and ends with it at the latest.',
    returns: 'The token.',
    codes: ['invalid_grant', 'key_scope'],
    responses: { created: 'The token.' },
    input: inputOf(tokenSchemas.CreateTokenRequest, {}),
    output: ref('UserToken'),
    client: { on: 'tokens', method: 'create', result: 'made' },
    examples: [
      {
        name: 'ofUser',
        summary: 'Own notes, and own pictures of up to 1 MB, for a quarter of an hour',
        input: { user: ada, grants: adasGrants, expiresIn: 900 },
        output: adasToken,
      },
      {
        name: 'badGrant',
        summary: 'A grant that allows nothing',
        input: { user: ada, grants: [{ ...writtenGrant, can: 'delete' }] },
        error: {
          code: 'invalid_grant',
          message: 'grants[0].can is "delete"; it takes "read" or "write".',
          field: 'grants[0].can',
        },
      },
    ],
  }),
})
