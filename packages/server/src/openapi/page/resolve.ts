import type { OpenApiDocument, Reference } from '../types.ts'

/** Follows a reference into the components of the document. */
export const resolve = <T extends object>(document: OpenApiDocument, value: T | Reference): T => {
  if (!('$ref' in value)) return value
  const [, , kind, name] = (value as Reference).$ref.split('/')
  return (document.components as unknown as Record<string, Record<string, T>>)[kind!]![name!]!
}
