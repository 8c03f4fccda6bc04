import fc from 'fast-check'
import type { Json } from '../harness.ts'
import { resolve } from './scenario.ts'

// Random values of a schema, as a tool makes them that knows nothing but the document. Strings are ASCII: limits are in
// bytes of UTF-8, and a schema can only count characters. Of `not`, a list of values and a pattern are heeded: the caller
// filters the rest.

const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>

const text = ({ minLength = 0, maxLength = 40, pattern, not }: Json): fc.Arbitrary<string> => {
  const all =
    pattern === undefined
      ? fc.string({ unit: 'grapheme-ascii', minLength, maxLength: Math.min(maxLength, minLength + 40) })
      : fc.stringMatching(new RegExp(pattern, 'u'), { size: 'xsmall' })
  const isRefused = (value: string): boolean =>
    not?.enum?.includes(value) || (not?.pattern !== undefined && new RegExp(not.pattern, 'u').test(value))
  return all.filter((value) => value.length <= maxLength && !isRefused(value))
}

const integer = ({ minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: Json) =>
  fc.oneof(
    fc.integer({ min: minimum, max: Math.min(maximum, minimum + 1_000) }),
    fc
      .nat({ max: 1_000_000 })
      .map((millionths) => Math.floor(minimum + (millionths / 1_000_000) * (maximum - minimum))),
    fc.constantFrom(minimum, maximum),
  )

const object = (document: Json, schema: Json): fc.Arbitrary<Json> => {
  const { properties = {}, required = [], minProperties = 0, maxProperties, additionalProperties } = schema
  const names = Object.keys(properties)
  if (schema.propertyNames !== undefined) {
    const key = arbitraryOf(document, schema.propertyNames) as fc.Arbitrary<string>
    const keys = { minKeys: minProperties, maxKeys: Math.min(maxProperties, 3) }
    return fc.dictionary(key, arbitraryOf(document, additionalProperties), keys)
  }
  const membersOf = (chosen: string[], requiredKeys: string[]): fc.Arbitrary<Json> => {
    const members = chosen.map((name) => [name, arbitraryOf(document, properties[name])])
    return fc.record<Json>(Object.fromEntries(members), { requiredKeys })
  }
  if (maxProperties !== undefined) {
    return fc
      .shuffledSubarray(names, { minLength: minProperties, maxLength: maxProperties })
      .chain((chosen) => membersOf(chosen, chosen))
  }
  const own = membersOf(names, required).filter((value) => Object.keys(value).length >= minProperties)
  if (additionalProperties !== true) return own
  const free = fc.dictionary(fc.string({ maxLength: 5 }), json, { maxKeys: 3 })
  return fc.tuple(free, own).map(([more, value]) => ({ ...more, ...value }))
}

export const arbitraryOf = (document: Json, given: Json): fc.Arbitrary<Json> => {
  const schema = resolve(document, given)
  const alternatives = schema.oneOf ?? schema.anyOf
  if (alternatives !== undefined) return fc.oneof(...alternatives.map((one: Json) => arbitraryOf(document, one)))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map((type: string) => arbitraryOf(document, { ...schema, type })))
  }
  switch (schema.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return integer(schema)
    case 'number':
      return fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
    case 'string':
      return text(schema)
    case 'array': {
      const { minItems = 0, maxItems = minItems + 5 } = schema
      const items = Object.keys(schema.items).length === 0 ? json : arbitraryOf(document, schema.items)
      const lengths = { minLength: minItems, maxLength: Math.min(maxItems, minItems + 5) }
      return schema.uniqueItems === true ? fc.uniqueArray(items, lengths) : fc.array(items, lengths)
    }
    case 'object':
      return object(document, schema)
    default:
      throw new Error(`a schema without type: ${JSON.stringify(schema)}`)
  }
}
