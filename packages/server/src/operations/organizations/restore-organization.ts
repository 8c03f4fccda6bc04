import type { Engine } from '../../store/engine.ts'
import type { RestoreOrganizationResult } from '../../store/organizations.ts'
import { defineOperation } from '../operation.ts'
import { type OrganizationInput, parseOrganization } from './delete-organization.ts'
import { presentOrganization } from './present-organization.ts'
import { createAcme, deleteAcme, named, organization } from './schemas.ts'

/** undefined if there is none. */
export const restoreOrganization = (
  { engine }: { engine: Engine },
  { name }: OrganizationInput,
  nowMs: number,
): Promise<RestoreOrganizationResult | undefined> => engine.organizations.restore(name, nowMs)

export const restoreOrganizationOperation = defineOperation({
  id: 'restoreOrganization',
  area: 'organizations',
  summary: 'Restore an organization that was deleted in the last 7 days',
  keyNeeded: 'operator',
  grants: 'none',
  effect: 'writes',
  parse: parseOrganization,
  run: restoreOrganization,
  present: (result) => JSON.stringify(result === undefined ? null : presentOrganization(result.organization)),
  describe: () => ({
    description:
      'All that it has is back: tables, records, files, tasks with their runs, and API keys. Keys that were revoked before it was deleted stay revoked. Times of schedules that have passed meanwhile create no runs.',
    returns:
      'The organization; its status is still `deleted` if it can no longer be restored. null if there is none with that name.',
    codes: [],
    input: named,
    output: organization(['object', 'null']),
    examples: [
      {
        name: 'restore',
        summary: 'A deleted organization',
        given: [createAcme, deleteAcme],
        input: { name: 'acme' },
        output: { id: 7, name: 'acme', status: 'active', createdAt: 1767398400000 },
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
