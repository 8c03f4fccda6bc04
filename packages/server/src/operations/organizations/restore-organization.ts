import type { Engine } from '../../store/engine.ts'
import type { RestoreOrganizationResult } from '../../store/organizations.ts'
import { defineOperation } from '../operation.ts'
import { type OrganizationInput, parseOrganization } from './delete-organization.ts'
import { presentOrganization } from './present-organization.ts'

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
  description:
    'All that it has is back: tables, records, files, tasks with their runs, and API keys. Keys that were revoked before it was deleted stay revoked. Times of schedules that have passed meanwhile create no runs.',
  keyNeeded: 'operator',
  effect: 'writes',
  returns:
    'The organization; its status is still `deleted` if it can no longer be restored. null if there is none with that name.',
  codes: [],
  parse: parseOrganization,
  run: restoreOrganization,
  present: (result) => JSON.stringify(result === undefined ? null : presentOrganization(result.organization)),
})
