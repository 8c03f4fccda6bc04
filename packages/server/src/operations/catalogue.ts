import { errorCodes } from '../core/error-codes.ts'
import type { ErrorCode } from '../core/errors.ts'
import { apiKeyCatalogue } from './api-keys/catalogue.ts'
import type { CatalogueEntry } from './catalogue-entry.ts'
import { organizationCatalogue } from './organizations/catalogue.ts'
import { recordCatalogue } from './records/catalogue.ts'
import type { Schema } from './schema.ts'
import { schemas } from './schemas.ts'
import { tableCatalogue } from './tables/catalogue.ts'

/**
 * Everything that the service does, each once. Whoever offers operations to somebody finds here all that it takes: what
 * to say of them, `parse` for what comes, `run`, and `present` for the answer. A request over HTTP does without it; it is
 * loaded by those that describe.
 */
export const catalogue = {
  ...organizationCatalogue,
  ...apiKeyCatalogue,
  ...tableCatalogue,
  ...recordCatalogue,
} satisfies Record<string, CatalogueEntry>

export type OperationId = keyof typeof catalogue

const membersOf = ({ properties, oneOf = [] }: Schema): string[] => [
  ...new Set([...Object.keys(properties ?? {}), ...oneOf.flatMap(membersOf)]),
]

export const inputMembers = ({ input }: CatalogueEntry): string[] => membersOf(input)

/** Every code that an operation may fail with once the caller is let in, in the order of the list of codes. */
export const codesOf = (entry: CatalogueEntry): ErrorCode[] => {
  const members = inputMembers(entry)
  const codes = new Set<ErrorCode>([...entry.codes, 'invalid_request', 'internal', 'store_damaged', 'unavailable'])
  const add = (...more: ErrorCode[]): void => {
    for (const code of more) codes.add(code)
  }
  if (members.includes('db')) add('invalid_name', 'reserved_name')
  if (members.includes('hashKey')) add('invalid_key')
  if (entry.effect !== 'reads') add('outcome_unknown', 'storage_full')
  return errorCodes.filter((code) => codes.has(code))
}

const namesIn = (schema: Schema): string[] =>
  Array.from(JSON.stringify(schema).matchAll(/"#\/\$defs\/(\w+)"/g), ([, name]) => name!)

/** The schema with all that it refers to, for those who cannot look it up among `schemas`. */
export const standalone = (schema: Schema): Schema => {
  const found = new Set<string>()
  const visit = (names: string[]): void => {
    for (const name of names.filter((candidate) => !found.has(candidate))) {
      found.add(name)
      visit(namesIn(schemas[name as keyof typeof schemas]))
    }
  }
  visit(namesIn(schema))
  if (found.size === 0) return schema
  return {
    ...schema,
    $defs: Object.fromEntries([...found].map((name) => [name, schemas[name as keyof typeof schemas]])),
  }
}
