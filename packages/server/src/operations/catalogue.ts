import { errorCodes } from '../core/error-codes.ts'
import type { ErrorCode } from '../core/errors.ts'
import { apiKeyCatalogue } from './api-keys/catalogue.ts'
import { bucketCatalogue } from './buckets/catalogue.ts'
import type { CatalogueEntry } from './catalogue-entry.ts'
import { fileCatalogue } from './files/catalogue.ts'
import { itemCatalogue } from './items/catalogue.ts'
import { organizationCatalogue } from './organizations/catalogue.ts'
import { recordCatalogue } from './records/catalogue.ts'
import { runCatalogue } from './runs/catalogue.ts'
import type { Schema } from './schema.ts'
import { tableCatalogue } from './tables/catalogue.ts'
import { taskCatalogue } from './tasks/catalogue.ts'

/**
 * Every operation of the service, described once. An adapter (OpenAPI, help, later MCP) finds here everything it needs:
 * the description, `parse` for the input, `run`, and `present` for the answer. HTTP requests do not use the catalogue;
 * only code that describes the operations loads it.
 */
export const catalogue = {
  ...organizationCatalogue,
  ...apiKeyCatalogue,
  ...tableCatalogue,
  ...recordCatalogue,
  ...itemCatalogue,
  ...bucketCatalogue,
  ...fileCatalogue,
  ...taskCatalogue,
  ...runCatalogue,
} satisfies Record<string, CatalogueEntry>

export type OperationId = keyof typeof catalogue

const membersOf = ({ properties, oneOf = [] }: Schema): string[] => [
  ...new Set([...Object.keys(properties ?? {}), ...oneOf.flatMap(membersOf)]),
]

export const inputMembers = ({ input }: CatalogueEntry): string[] => membersOf(input)

/** Every code that an operation may fail with after authentication, in the order of `errorCodes`. */
export const codesOf = (entry: CatalogueEntry): ErrorCode[] => {
  const members = inputMembers(entry)
  const codes = new Set<ErrorCode>([...entry.codes, 'invalid_request', 'internal', 'store_damaged', 'unavailable'])
  const add = (...more: ErrorCode[]): void => {
    for (const code of more) codes.add(code)
  }
  if (members.includes('db') || members.includes('collection')) add('invalid_name', 'reserved_name')
  if (members.includes('hashKey')) add('invalid_key')
  if (entry.effect !== 'reads') add('outcome_unknown', 'storage_full')
  return errorCodes.filter((code) => codes.has(code))
}
