import { recoveryMs } from '../../core/limits.ts'
import { OperatorError } from '../../core/operator-error.ts'
import type { Engine } from '../../store/engine.ts'
import type { Organization } from '../../store/organizations.ts'
import type { Flag } from '../arguments.ts'

export const orgFlag: Flag = { type: 'string', value: 'NAME', help: 'the organization', default: 'default' }

export const requireOrganization = async (engine: Engine, name: string): Promise<Organization> => {
  const organization = await engine.organizations.find(name)
  if (organization === undefined) throw noOrganization(name)
  if (organization.deletedAtMs === null) return organization
  throw new OperatorError(`the organization ${name} was deleted; ${restoreNote(organization)}`)
}

export const noOrganization = (name: string): OperatorError =>
  new OperatorError(`there is no organization ${name}; see cubby orgs list, or create it: cubby orgs create ${name}`)

/** Returns the time until which a deleted organization can be restored. */
export const restorableUntil = ({ deletedAtMs }: Organization): string =>
  new Date(deletedAtMs! + recoveryMs).toISOString()

export const restoreNote = (organization: Organization): string =>
  `cubby orgs restore ${organization.name} brings it back until ${restorableUntil(organization)}`
