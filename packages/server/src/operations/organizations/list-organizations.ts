import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Engine } from '../../store/engine.ts'
import type { Organization } from '../../store/organizations.ts'
import { defineOperation } from '../operation.ts'
import { inputOf } from '../schema.ts'
import { presentOrganization } from './present-organization.ts'
import { organization } from './schemas.ts'

export const listOrganizations = async ({ engine }: { engine: Engine }): Promise<Organization[]> =>
  engine.organizations.list()

export const presentOrganizations = (organizations: Organization[]) => ({
  organizations: organizations.map(presentOrganization),
})

export const listOrganizationsOperation = defineOperation({
  id: 'listOrganizations',
  area: 'organizations',
  summary: 'List organizations',
  keyNeeded: 'operator',
  grants: 'none',
  effect: 'reads',
  parse(text): Record<string, never> {
    refuseUnknownMembers(parsePlainBody(text), [])
    return {}
  },
  run: listOrganizations,
  present: (organizations) => JSON.stringify(presentOrganizations(organizations)),
  describe: () => ({
    description: 'All organizations of the store, by name. A deleted one is listed until it is removed for good.',
    returns: 'The organizations.',
    codes: [],
    input: inputOf({}, {}),
    output: {
      type: 'object',
      properties: {
        organizations: { type: 'array', items: organization('object') },
      },
      required: ['organizations'],
    },
    examples: [
      {
        name: 'all',
        summary: 'All organizations',
        input: {},
        output: { organizations: [{ id: 1, name: 'default', status: 'active', createdAt: 1767139200000 }] },
      },
    ],
  }),
})
