import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Json } from '../harness.ts'

// Checks inputs and outputs against the list of tools, as a client does.

type Check = (value: unknown) => string | undefined

/** The same schema, and objects have no members that it does not name. */
const closed = (schema: Json): Json => {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(closed)
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return schema.properties === undefined ? inner : { ...inner, additionalProperties: false }
}

/** Outputs that list every member. The others list what a model needs and have more: dates of a table, details of a run. */
const listsEveryMember = new Set([
  'delete_records',
  'get_file_url',
  'get_records',
  'patch_records',
  'put_records',
  'query_records',
])

const checkOf = (schema: Json): Check => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  const validate = ajv.compile(schema)
  return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors))
}

export interface ToolChecks {
  input: Check
  output: Check
}

export const checksOf = (tools: Json[]): Map<string, ToolChecks> =>
  new Map(
    tools.map(({ name, inputSchema, outputSchema }) => [
      name,
      {
        input: checkOf(inputSchema),
        output: checkOf(listsEveryMember.has(name) ? closed(outputSchema) : outputSchema),
      },
    ]),
  )
