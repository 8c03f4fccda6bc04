import { refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Engine } from '../../store/engine.ts'
import type { DeleteOrganizationResult } from '../../store/organizations.ts'
import { defineOperation } from '../operation.ts'
import { presentOrganization } from './present-organization.ts'
import { createAcme, named, organization } from './schemas.ts'

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
  keyNeeded: 'operator',
  grants: 'none',
  effect: 'destroys',
  parse: parseOrganization,
  run: deleteOrganization,
  present: (result) => JSON.stringify(result === undefined ? null : presentOrganization(result.organization)),
  describe: () => ({
    description:
      'From then on its API keys are unknown, the URLs of its files lead nowhere, and its tasks stop. It can be restored for 7 days. Then its tables, records, files, runs and keys are removed. Its name is taken until that is done.',
    returns: 'The deleted organization; null if there is none with that name.',
    codes: [],
    input: named,
    output: organization(['object', 'null']),
    examples: [
      {
        name: 'delete',
        summary: 'An organization',
        given: [createAcme],
        input: { name: 'acme' },
        output: {
          ...{ id: 7, name: 'acme', status: 'deleted', createdAt: 1767398400000 },
          ...{ deletedAt: 1767484800000, recoverableUntil: 1768089600000 },
        },
      },
      {
        name: 'missing',
        summary: 'A name that no organization has',
        input: { name: 'acme' },
        output: null,
        unchanged: true,
      },
    ],
  }),
})
