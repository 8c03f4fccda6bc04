import type { Organization } from '../../store/organizations.ts'
import { presentLife } from '../tables/lifecycle.ts'

export const presentOrganization = (organization: Organization) => ({
  id: organization.id,
  name: organization.name,
  ...presentLife(organization),
})
