import type { Organization } from '../../store/organizations.ts'
import { presentLife } from '../lifecycle.ts'

export const presentOrganization = (organization: Organization) => ({
  id: organization.id,
  name: organization.name,
  ...presentLife(organization),
})
