import { CubbyError } from '../../core/errors.ts'
import type { Grant } from '../../core/tokens/grants.ts'
import type { Access } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { isAKey } from './examples.ts'

interface OwnToken {
  user: string
  grants: readonly Grant[]
  expiresAtMs: number
}

const describeOwnToken = ({ apiKey: { user, expiresAtMs } }: Access): OwnToken => {
  if (user === undefined) {
    throw new CubbyError('not_granted', 'An API key has no grants.', {
      hint: 'Send the request with a user token.',
    })
  }
  const { name, grants } = user
  return { user: name, grants, expiresAtMs: Math.min(user.expiresAtMs, expiresAtMs ?? Number.POSITIVE_INFINITY) }
}

export const describeOwnTokenOperation = defineOperation({
  id: 'describeOwnToken',
  area: 'tokens',
  summary: 'Describe the calling user token',
  keyNeeded: 'read',
  grants: 'any',
  effect: 'reads',
  route: { method: 'GET', path: '/api/tokens/self' },
  run: describeOwnToken,
  present: ({ user, grants, expiresAtMs }) => JSON.stringify({ user, grants, expiresAt: expiresAtMs }),
  describe: () => ({
    title: 'Describe the calling token',
    description: 'The user token that the request is sent with. An API key has no grants: `not_granted`.',
    returns: 'The user, the grants and the end of the token.',
    codes: ['not_granted'],
    input: inputOf({}, {}),
    output: ref('OwnToken'),
    client: { on: 'tokens', method: 'self', result: 'own' },
    examples: [{ name: 'aKey', summary: 'With an API key', input: {}, error: isAKey }],
  }),
})
