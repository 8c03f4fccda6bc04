import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import { standalone } from '../../src/operations/catalogue.ts'
import type { Schema } from '../../src/operations/schema.ts'

const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true, formats: { int64: true } })
const compiled = new Map<Schema, ValidateFunction>()

/** What is wrong with the value by JSON Schema 2020-12, strictly; empty when nothing is. The schema stands by itself. */
export const schemaFaults = (schema: Schema, value: unknown): string[] => {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(standalone(schema))
    compiled.set(schema, validate)
  }
  if (validate(value)) return []
  return validate.errors!.map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`)
}
