import { refuseUnknownMembers } from '../../core/members.ts'
import { hashUser, parseUser } from '../../core/tokens/user.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { ada, revokedAt } from './examples.ts'
import { tokenSchemas } from './schemas.ts'

interface RevokeUserInput {
  user: string
}

interface RevokedUser {
  user: string
  revokedAtMs: number
}

const revokeUser = async (access: Access, { user }: RevokeUserInput, nowMs: number): Promise<RevokedUser> => ({
  user,
  revokedAtMs: await access.engine.users.revoke(callerOf(access), hashUser(user), nowMs),
})

export const revokeUserOperation = defineOperation({
  id: 'revokeUser',
  area: 'tokens',
  summary: 'Revoke the tokens of a user',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'destroys',
  route: { method: 'POST', path: '/api/tokens/revoke', body: { schema: 'RevokeUserRequest', required: true } },
  command: 'tokens revoke {user}',
  read({ members }) {
    refuseUnknownMembers(members, ['user'])
    return { user: parseUser(members.user) }
  },
  run: revokeUser,
  present: ({ user, revokedAtMs }) => JSON.stringify({ user, revokedAt: revokedAtMs }),
  describe: () => ({
    title: 'Revoke a user',
    description:
      'Ends every token of the user that was handed out before this request, on every process when the answer is sent. Login tokens with an `iat` up to the second of the revocation are not exchanged any more. A token that is made after the answer works. A user that has no token may be revoked too.',
    returns: 'The user, and when the tokens ended.',
    codes: [],
    input: inputOf(tokenSchemas.RevokeUserRequest, {}),
    output: ref('RevokedUser'),
    client: { on: 'tokens', method: 'revoke', result: 'revoked', args: ({ user }) => [user] },
    examples: [
      {
        name: 'revoked',
        summary: 'A person logs out everywhere',
        input: { user: ada },
        output: { user: ada, revokedAt },
      },
      {
        name: 'noUser',
        summary: 'No user',
        input: { user: '' },
        error: {
          code: 'invalid_request',
          message: 'user is ""; it takes 1 to 256 bytes of UTF-8 without control characters.',
          field: 'user',
          hint: 'Give the id that this person has in your application.',
        },
      },
    ],
  }),
})
