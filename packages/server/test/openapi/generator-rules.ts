import type { Json } from '../harness.ts'
import { operationsOf, parametersOf, resolve } from './scenario.ts'

// Code generators need these rules beyond a valid document. Each rule gives the places that break it, and says above it
// what goes wrong without it. A new area must follow them: generator-rules.test.ts checks the whole document.

export type Rule = (document: Json) => string[]

interface Place {
  /** The place as a path into the document. */
  at: string
  /** The name of the property, parameter, header or component. */
  name: string
  schema: Json
}

/** The keywords whose value is a schema, a list of schemas, or schemas by name. */
const inside: Record<string, 'one' | 'list' | 'named'> = {
  items: 'one',
  additionalProperties: 'one',
  not: 'one',
  oneOf: 'list',
  anyOf: 'list',
  allOf: 'list',
  prefixItems: 'list',
  properties: 'named',
  patternProperties: 'named',
}

const within = (at: string, name: string, schema: Json): Place[] => {
  if (typeof schema !== 'object' || schema === null) return []
  const deeper = Object.entries(inside).flatMap(([keyword, kind]) => {
    const value = schema[keyword]
    if (value === undefined) return []
    if (kind === 'one') return within(`${at}.${keyword}`, name, value)
    return Object.entries<Json>(value).flatMap(([key, one]) =>
      within(`${at}.${keyword}.${key}`, kind === 'named' ? key : name, one),
    )
  })
  return [{ at, name, schema }, ...deeper]
}

/** Every schema under `value`, wherever OpenAPI has one: under `schema` and among the components. Examples have none. */
const schemasUnder = (at: string, name: string, value: Json): Place[] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries<Json>(value).flatMap(([key, one]) => {
    if (key === 'schema') return within(`${at}.schema`, value.name ?? name, one)
    if (key === 'example' || key === 'examples' || key.startsWith('x-')) return []
    return schemasUnder(`${at}.${key}`, Array.isArray(value) ? name : key, one)
  })
}

const schemasOf = (document: Json): Place[] => {
  const { schemas, ...others } = document.components
  return [
    ...Object.entries<Json>(schemas).flatMap(([name, schema]) => within(`components.schemas.${name}`, name, schema)),
    ...schemasUnder('components', '', others),
    ...schemasUnder('paths', '', document.paths),
  ]
}

const placesWhere = (document: Json, breaks: (place: Place) => boolean): string[] =>
  schemasOf(document)
    .filter(breaks)
    .map(({ at }) => at)

/** The schemas of request bodies, and all that they refer to. */
const bodySchemasOf = (document: Json): Place[] => {
  const seen = new Set<string>()
  const follow = (places: Place[]): Place[] =>
    places.flatMap((place) => {
      const pointer = place.schema.$ref
      if (pointer === undefined || seen.has(pointer)) return [place]
      seen.add(pointer)
      return [place, ...follow(within(pointer, pointer.split('/').at(-1), resolve(document, place.schema)))]
    })
  return operationsOf(document).flatMap(({ id, object }) =>
    follow(schemasUnder(`${id} body`, '', object.requestBody ?? {})),
  )
}

/** openapi-typescript takes an object without members for an empty one: `Record<string, never>`. */
export const objectsSayTheirMembers: Rule = (document) =>
  placesWhere(
    document,
    ({ schema }) =>
      [schema.type].flat().includes('object') &&
      schema.properties === undefined &&
      schema.additionalProperties === undefined,
  )

/** openapi-typescript makes a member with a default required. The description says the default. */
export const noDefaultInBodies: Rule = (document) =>
  bodySchemasOf(document)
    .filter(({ schema }) => schema.default !== undefined)
    .map(({ at }) => at)

/** openapi-python-client leaves out an operation with such a parameter. */
export const noConstInHeaders: Rule = (document) => [
  ...operationsOf(document).flatMap((operation) =>
    parametersOf(document, operation)
      .filter((parameter) => resolve(document, parameter.schema).const !== undefined)
      .map(({ name }) => `${operation.id} ${name}`),
  ),
  ...schemasUnder('components.headers', '', document.components.headers)
    .filter(({ schema }) => schema.const !== undefined)
    .map(({ at }) => at),
]

/** oapi-codegen ends with an error. `anyOf` says the same. */
export const oneTypeBesidesNull: Rule = (document) =>
  placesWhere(document, ({ schema }) => [schema.type].flat().filter((type) => type !== 'null').length > 1)

/** Names that generators make from the id of an operation: two types of one name do not compile. */
const madeFromOperations = 'Data Error Errors JSONBody JSONRequestBody Params Response Responses'.split(' ')

/** Types of TypeScript that generated code uses itself: orval writes `Record<string, unknown>`. */
const builtIn =
  'Array Date File Function Map Object Omit Partial Pick Promise Record Request Response Set String'.split(' ')

/** Parameters and responses become types beside those of the schemas. */
export const schemaNamesAreFree: Rule = (document) => {
  const capitalized = (id: string): string => id[0]!.toUpperCase() + id.slice(1)
  const { parameters, responses, schemas } = document.components
  const taken = new Set([
    ...builtIn,
    ...Object.keys({ ...parameters, ...responses }).map((name) => capitalized(name.replaceAll('-', ''))),
    ...operationsOf(document).flatMap(({ id }) => madeFromOperations.map((suffix) => capitalized(id) + suffix)),
  ])
  return Object.keys(schemas).filter((name) => taken.has(name))
}

/** openapi-generator gives the method both parameters: `hash_key` and `hash_key2`. */
export const noParameterTwice: Rule = (document) =>
  operationsOf(document).flatMap(({ id, path, object }) => {
    const all = [...(document.paths[path].parameters ?? []), ...(object.parameters ?? [])]
      .map((parameter) => resolve(document, parameter))
      .map((parameter: Json) => `${id} ${parameter.in} ${parameter.name}`)
    return all.filter((parameter, i) => all.indexOf(parameter) !== i)
  })

/** Another schema is another class for each answer: `RevokeApiKey404ResponseAllOfError`. */
export const oneErrorSchema: Rule = (document) =>
  operationsOf(document).flatMap(({ id, object }) =>
    Object.entries<Json>(object.responses)
      .filter(([status]) => Number(status) >= 400)
      .filter(([, response]) =>
        Object.values<Json>(resolve(document, response).content ?? {}).some(
          ({ schema }) => JSON.stringify(schema) !== '{"$ref":"#/components/schemas/Error"}',
        ),
      )
      .map(([status]) => `${id} ${status}`),
  )

/** It would be an argument of every generated method. The introduction describes what every request may have. */
export const noHeaderEverywhere: Rule = (document) => {
  const operations = operationsOf(document)
  const count = new Map<string, number>()
  for (const operation of operations) {
    const inPath: Json[] = (document.paths[operation.path].parameters ?? []).map((one: Json) => resolve(document, one))
    for (const parameter of [...inPath, ...parametersOf(document, operation)]) {
      if (parameter.in === 'header') count.set(parameter.name, (count.get(parameter.name) ?? 0) + 1)
    }
  }
  return [...count]
    .filter(([name, times]) => name === 'X-Request-Id' || times > operations.length / 2)
    .map(([name]) => name)
}

const answerOf = (document: Json, object: Json): string =>
  JSON.stringify(
    Object.entries<Json>(object.responses)
      .filter(([status]) => Number(status) < 300)
      .map(([status, response]) => [status, Object.values<Json>(resolve(document, response).content ?? {})[0]?.schema]),
  )

/** The same operation on a path that a more general one covers, such as `GET …/query` beside `GET …/{hashKey}`. */
export const noSpecialCases: Rule = (document) => {
  const operations = operationsOf(document)
  const covers = (general: string, special: string): boolean => {
    const [a, b] = [general.split('/'), special.split('/')]
    return general !== special && a.length === b.length && a.every((part, i) => part === b[i] || /^\{\w+\}$/.test(part))
  }
  return operations
    .filter(({ method, path, object }) =>
      operations.some(
        (other) =>
          other.method === method &&
          covers(other.path, path) &&
          answerOf(document, other.object) === answerOf(document, object),
      ),
    )
    .map(({ id }) => id)
}

/** The server answers it on every path. */
export const documents431: Rule = (document) =>
  operationsOf(document)
    .filter(({ object }) => object.responses[431] === undefined)
    .map(({ id }) => id)

/** These have no upper bound: the server takes a larger one as the largest. */
const anyNumber = ['limit', 'retryAfter']

/**
 * Without bounds a tool sends integers that JSON parsers do not read exactly, and cannot say how large a number must be
 * declared.
 */
export const integersHaveBounds: Rule = (document) =>
  placesWhere(
    document,
    ({ name, schema }) =>
      [schema.type].flat().includes('integer') &&
      (schema.minimum === undefined || (schema.maximum === undefined && !anyNumber.includes(name))),
  )

/** A cursor of other characters can never be one of ours. */
export const cursorsHavePatterns: Rule = (document) => {
  const inParameters = operationsOf(document).flatMap((operation) =>
    parametersOf(document, operation).map(({ name, schema }) => ({ at: `${operation.id} ${name}`, name, schema })),
  )
  return [...bodySchemasOf(document), ...inParameters]
    .filter(({ name, schema }) => name === 'cursor' && schema.pattern === undefined)
    .map(({ at }) => at)
}
