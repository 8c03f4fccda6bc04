import { apiKeySchemas, ownKeySchemas } from './api-keys/schemas.ts'
import { bucketSchemas } from './buckets/schemas.ts'
import { changesSchemas } from './changes/schemas.ts'
import { fileSchemas } from './files/schemas.ts'
import { urlSchemas } from './files/url-schemas.ts'
import { issuerSchemas } from './issuers/schemas.ts'
import { itemSchemas } from './items/schemas.ts'
import { recordSchemas } from './records/schemas.ts'
import { runSchemas } from './runs/schemas.ts'
import { tableSchemas } from './tables/schemas.ts'
import { taskSchemas } from './tasks/schemas.ts'
import { tokenSchemas } from './tokens/schemas.ts'

/** The named schemas of inputs and outputs. */
export const schemas = {
  ...tableSchemas,
  ...recordSchemas,
  ...itemSchemas,
  ...changesSchemas,
  ...bucketSchemas,
  ...fileSchemas,
  ...urlSchemas,
  ...taskSchemas,
  ...runSchemas,
  ...apiKeySchemas,
  ...ownKeySchemas,
  ...tokenSchemas,
  ...issuerSchemas,
}

export type SchemaName = keyof typeof schemas
