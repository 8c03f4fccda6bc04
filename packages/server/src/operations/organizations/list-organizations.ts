import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Engine } from '../../store/engine.ts'
import type { Organization } from '../../store/organizations.ts'
import { defineOperation } from '../operation.ts'
import { presentOrganization } from './present-organization.ts'

export const listOrganizations = async ({ engine }: { engine: Engine }): Promise<Organization[]> =>
  engine.organizations.list()

export const presentOrganizations = (organizations: Organization[]) => ({
  organizations: organizations.map(presentOrganization),
})

export const listOrganizationsOperation = defineOperation({
  id: 'listOrganizations',
  area: 'organizations',
  summary: 'List organizations',
  description: 'All organizations of the store, by name. A deleted one is listed until it is removed for good.',
  keyNeeded: 'operator',
  effect: 'reads',
  returns: 'The organizations.',
  codes: [],
  parse(text): Record<string, never> {
    refuseUnknownMembers(parsePlainBody(text), [])
    return {}
  },
  run: listOrganizations,
  present: (organizations) => JSON.stringify(presentOrganizations(organizations)),
})
