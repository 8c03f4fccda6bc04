import type { Issuer } from '../../store/users.ts'
import type { Access } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { putAuth, storedAuth } from './examples.ts'
import { presentIssuer } from './present-issuer.ts'

const listIssuers = async ({ engine, apiKey }: Access): Promise<Issuer[]> => engine.users.listIssuers(apiKey.orgId)

export const listIssuersOperation = defineOperation({
  id: 'listIssuers',
  area: 'tokens',
  summary: 'List the issuers of an organization',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/api/issuers' },
  command: 'issuers list',
  run: listIssuers,
  present: (issuers) => JSON.stringify({ issuers: issuers.map(presentIssuer) }),
  describe: () => ({
    title: 'List issuers',
    description: 'All issuers of the organization, by name.',
    returns: 'The issuers.',
    codes: [],
    input: inputOf({}, {}),
    output: ref('IssuerList'),
    client: { on: 'issuers', method: 'list', result: 'issuers' },
    examples: [{ name: 'all', summary: 'All issuers', given: [putAuth], input: {}, output: { issuers: [storedAuth] } }],
  }),
})
