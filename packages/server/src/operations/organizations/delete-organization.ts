import { refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Engine } from '../../store/engine.ts'
import type { DeleteOrganizationResult } from '../../store/organizations.ts'
import { defineOperation } from '../operation.ts'
import { presentOrganization } from './present-organization.ts'

export interface OrganizationInput {
  name: string
}

export const parseOrganization = (text: string): OrganizationInput => {
  const members = parsePlainBody(text)
  refuseUnknownMembers(members, ['name'])
  return { name: parseName(members.name, 'name') }
}

/** undefined if there is none. */
export const deleteOrganization = (
  { engine }: { engine: Engine },
  { name }: OrganizationInput,
  nowMs: number,
): Promise<DeleteOrganizationResult | undefined> => engine.organizations.delete(name, nowMs)

export const deleteOrganizationOperation = defineOperation({
  id: 'deleteOrganization',
  area: 'organizations',
  summary: 'Delete an organization; for 7 days it can be restored',
  description:
    'From then on its API keys are unknown, the URLs of its files lead nowhere, and its tasks stop. It can be restored for 7 days. Then its tables, records, files, runs and keys are removed. Its name is taken until that is done.',
  keyNeeded: 'operator',
  effect: 'destroys',
  returns: 'The deleted organization; null if there is none with that name.',
  codes: [],
  parse: parseOrganization,
  run: deleteOrganization,
  present: (result) => JSON.stringify(result === undefined ? null : presentOrganization(result.organization)),
})
