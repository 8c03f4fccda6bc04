import { CubbyError } from '../../core/errors.ts'
import { encodeIssuer, identityOf, parseIssuer } from '../../core/issuers/issuer.ts'
import { issuersMax } from '../../core/limits.ts'
import type { Issuer } from '../../store/users.ts'
import { type Access, callerOf } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { ref } from '../schema.ts'
import { auth, putAuth, storedAuth, withoutKeys } from './examples.ts'
import { issuerJson } from './present-issuer.ts'
import { putIssuerInput } from './schemas.ts'

interface PutIssuerInput {
  name: string
  declaration: ReturnType<typeof parseIssuer>
}

interface StoredIssuer extends Issuer {
  created: boolean
}

const putIssuer = async (
  access: Access,
  { name, declaration }: PutIssuerInput,
  nowMs: number,
): Promise<StoredIssuer> => {
  if (declaration.keysUrl !== undefined) await access.logins.checkKeysUrl(declaration.keysUrl)
  const toPut = { name, declaration: encodeIssuer(name, declaration), identity: identityOf(declaration) }
  const put = await access.engine.users.putIssuer(callerOf(access), toPut, nowMs)
  switch (put.outcome) {
    case 'stored':
      return { ...put.issuer, created: put.created }
    case 'taken':
      throw new CubbyError('invalid_request', `The issuer ${put.name} has the same issuer and audience.`, {
        field: 'issuer',
        hint: 'A login token must be of one issuer: change that one, or delete it first.',
      })
    case 'tooMany':
      throw new CubbyError('invalid_request', `The organization has ${issuersMax} issuers; it takes no more.`, {
        hint: 'Delete one that is not used any more.',
      })
  }
}

export const putIssuerOperation = defineOperation({
  id: 'putIssuer',
  area: 'tokens',
  summary: 'Add an issuer, or replace its declaration',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'writes',
  route: { method: 'PUT', path: '/api/issuers/:name', body: { schema: 'PutIssuerRequest', required: true } },
  command: 'issuers put {name}',
  read: ({ members }) => ({ declaration: parseIssuer(members) }),
  run: putIssuer,
  present: issuerJson,
  describe: () => ({
    title: 'Put an issuer',
    description:
      'An issuer is a login service whose tokens are exchanged for user tokens. In `user`, and in `db`, `hash` and `prefix` of its grants, `{claim}` stands for a claim of the login token; the value must not contain the character that follows. A change ends the tokens that were exchanged before; the same declaration again changes nothing.',
    returns: 'The issuer.',
    codes: ['invalid_name', 'reserved_name', 'invalid_grant', 'push_target_refused'],
    responses: { existing: 'The issuer existed; it has the new declaration.', created: 'Created.' },
    input: putIssuerInput,
    output: ref('Issuer'),
    client: { on: 'issuers', method: 'put', result: 'issuer', args: ({ name, ...issuer }) => [name, issuer] },
    examples: [
      {
        name: 'keys',
        summary: 'A login service with its public key',
        input: { name: 'auth', ...auth },
        output: storedAuth,
      },
      {
        name: 'same',
        summary: 'The same declaration again changes nothing',
        given: [putAuth],
        input: { name: 'auth', ...auth },
        output: storedAuth,
        unchanged: true,
      },
      {
        name: 'noEnd',
        summary: 'A text that does not end after the claim',
        input: {
          name: 'auth',
          ...auth,
          grants: [{ db: 'app', table: 'notes', hash: { beginsWith: '{sub}' }, can: 'write' }],
        },
        error: {
          code: 'invalid_grant',
          message: 'grants[0].hash ends with {sub}: "ada" would reach "adam".',
          field: 'grants[0].hash',
          hint: 'Put a character such as ":" after it.',
        },
      },
      {
        name: 'taken',
        summary: 'The same login service under another name',
        given: [putAuth],
        input: { name: 'login', ...auth },
        error: {
          code: 'invalid_request',
          message: 'The issuer auth has the same issuer and audience.',
          field: 'issuer',
          hint: 'A login token must be of one issuer: change that one, or delete it first.',
        },
      },
      {
        name: 'credentialsInUrl',
        summary: 'An address with a password in it',
        input: { name: 'auth', ...withoutKeys, keysUrl: 'https://ada:secret@login.example.com/keys' },
        error: {
          code: 'push_target_refused',
          message: 'keysUrl has a user or a password.',
          field: 'keysUrl',
          hint: 'Leave them out: public keys need no password.',
        },
      },
    ],
  }),
})
