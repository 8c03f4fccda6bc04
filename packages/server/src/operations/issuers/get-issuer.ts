import type { Issuer } from '../../store/users.ts'
import type { Access } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { ref } from '../schema.ts'
import { putAuth, storedAuth } from './examples.ts'
import { issuerJson, issuerNotFound } from './present-issuer.ts'
import { nameAlone } from './schemas.ts'

const getIssuer = async ({ engine, apiKey }: Access, { name }: { name: string }): Promise<Issuer> => {
  const issuers = await engine.users.listIssuers(apiKey.orgId)
  const found = issuers.find((issuer) => issuer.name === name)
  if (found === undefined) throw issuerNotFound(name)
  return found
}

export const getIssuerOperation = defineOperation({
  id: 'getIssuer',
  area: 'tokens',
  summary: 'Get an issuer',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/api/issuers/:name' },
  command: 'issuers get {name}',
  run: getIssuer,
  present: issuerJson,
  describe: () => ({
    description: 'The declaration of one issuer.',
    returns: 'The issuer.',
    codes: ['invalid_name', 'reserved_name', 'issuer_not_found'],
    input: nameAlone,
    output: ref('Issuer'),
    client: { on: 'issuers', method: 'get', result: 'issuer', args: ({ name }) => [name] },
    examples: [
      { name: 'get', summary: 'A login service', given: [putAuth], input: { name: 'auth' }, output: storedAuth },
      {
        name: 'unknown',
        summary: 'No such issuer',
        input: { name: 'nobody' },
        error: {
          code: 'issuer_not_found',
          message: 'There is no issuer nobody.',
          hint: ['The issuers of the organization: ', { operation: 'listIssuers', input: {} }],
        },
      },
    ],
  }),
})
