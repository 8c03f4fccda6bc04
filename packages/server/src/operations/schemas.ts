import { apiKeySchemas } from './api-keys/schemas.ts'
import { recordSchemas } from './records/schemas.ts'
import { tableSchemas } from './tables/schemas.ts'

/** What inputs and outputs are made of, by name. */
export const schemas = { ...tableSchemas, ...recordSchemas, ...apiKeySchemas }

export type SchemaName = keyof typeof schemas
