import { OperatorError } from '../../core/operator-error.ts'
import type { Engine } from '../../store/engine.ts'
import type { Organization } from '../../store/organizations.ts'

export const requireOrganization = async (engine: Engine, name: string): Promise<Organization> => {
  const organization = await engine.organizations.find(name)
  if (organization !== undefined) return organization
  throw new OperatorError(
    `there is no organization ${name}; see cubby orgs list, or create it: cubby orgs create ${name}`,
  )
}
