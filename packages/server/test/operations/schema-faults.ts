import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import type { Schema } from '../../src/operations/schema.ts'
import { schemas } from '../../src/operations/schemas.ts'

const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true, formats: { int64: true } })
const compiled = new Map<Schema, ValidateFunction>()

const namesIn = (schema: Schema): string[] =>
  Array.from(JSON.stringify(schema).matchAll(/"#\/\$defs\/(\w+)"/g), ([, name]) => name!)

/** The schema with all that it refers to. */
const standalone = (schema: Schema): Schema => {
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

/** The errors of a strict validation by JSON Schema 2020-12; empty if the value is valid. */
export const schemaFaults = (schema: Schema, value: unknown): string[] => {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(standalone(schema))
    compiled.set(schema, validate)
  }
  if (validate(value)) return []
  return validate.errors!.map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`)
}
