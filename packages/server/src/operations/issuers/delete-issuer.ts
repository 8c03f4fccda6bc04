import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { ref } from '../schema.ts'
import { putAuth } from './examples.ts'
import { nameAlone } from './schemas.ts'

const deleteIssuer = (access: Access, { name }: { name: string }): Promise<boolean> =>
  access.engine.users.deleteIssuer(callerOf(access), name)

export const deleteIssuerOperation = defineOperation({
  id: 'deleteIssuer',
  area: 'tokens',
  summary: 'Delete an issuer; its tokens end',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'destroys',
  route: { method: 'DELETE', path: '/api/issuers/:name' },
  command: 'issuers delete {name}',
  run: deleteIssuer,
  present: (deleted) => JSON.stringify({ deleted }),
  describe: () => ({
    title: 'Delete an issuer',
    description:
      'Once the answer is sent, its login tokens are not exchanged any more, and the tokens that were have ended.',
    returns: 'Whether there was one.',
    codes: ['invalid_name', 'reserved_name'],
    input: nameAlone,
    output: ref('DeletedIssuer'),
    client: { on: 'issuers', method: 'delete', result: 'answer', args: ({ name }) => [name] },
    examples: [
      {
        name: 'delete',
        summary: 'Delete a login service',
        given: [putAuth],
        input: { name: 'auth' },
        output: { deleted: true },
      },
      { name: 'unknown', summary: 'No such issuer', input: { name: 'auth' }, output: { deleted: false } },
    ],
  }),
})
