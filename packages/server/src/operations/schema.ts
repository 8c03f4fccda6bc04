// The part of JSON Schema 2020-12 that is used here, and functions to write it. Schemas are plain values: OpenAPI and other
// adapters can use them unchanged.

import { cursorCharactersMax } from '../core/limits.ts'

export interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  type?: string | string[]
  description?: string
  format?: string
  pattern?: string
  enum?: readonly unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  minProperties?: number
  maxProperties?: number
  properties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  propertyNames?: Schema
  items?: Schema
  not?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
  /** The meaning of each member of `enum`. */
  'x-enumDescriptions'?: Record<string, string>
}

// Objects are tied to the client's types: a field that only one of the two has does not compile.

type RequiredKey<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T] & string
type Properties<T> = { [K in keyof T]-?: T[K] extends undefined ? never : Schema }
type OwnProperties<T> = { [K in keyof Properties<T> as Properties<T>[K] extends never ? never : K]: Schema }

export const objectOf = <T>(description: string, required: RequiredKey<T>[], properties: OwnProperties<T>): Schema => ({
  type: 'object',
  description,
  properties: properties as Record<string, Schema>,
  ...(required.length === 0 ? {} : { required }),
})

/** Closes the schema of a request: an unknown member is rejected. */
export const closed = (schema: Schema): Schema => ({ ...schema, additionalProperties: false })

const nothing: Schema = { not: {} }

/** At least one of these members. Written with `not`, because code generators make a union of types of `anyOf`. */
export const someOf = (names: string[]): Pick<Schema, 'not'> => ({
  not: { properties: Object.fromEntries(names.map((name) => [name, nothing])) },
})

/** A reference to a member of `schemas`. */
export const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` })

export const nullable = (type: string, more: Schema): Schema => ({ ...more, type: [type, 'null'] })

/** A JSON object with any members. Without `additionalProperties` some code generators take it for an empty object. */
export const freeObject = (description: string): Schema => ({ type: 'object', description, additionalProperties: true })

/** The integers that every JSON parser reads exactly. */
export const exactIntegers = {
  format: 'int64',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
} satisfies Schema

export const times = { ...exactIntegers, minimum: 0 } satisfies Schema

export const milliseconds = (description: string): Schema => ({
  type: 'integer',
  ...times,
  description: `${description} Epoch milliseconds.`,
})

export const number = (value: number): string => value.toLocaleString('en-US')

/** `64 KiB`, `12 MiB`, `5 GiB`. */
export const binaryBytes = (bytes: number): string => {
  if (bytes < 1_048_576) return `${bytes / 1_024} KiB`
  return bytes < 1_073_741_824 ? `${bytes / 1_048_576} MiB` : `${bytes / 1_073_741_824} GiB`
}

/** The text of a cursor in a request. */
export const cursorText = { pattern: '^[A-Za-z0-9_-]+$', maxLength: cursorCharactersMax } satisfies Schema

/** The cursor of an answer. */
export const nextCursor = nullable('string', {
  description: 'Opaque. Send it back to get the next page. Null on the last page.',
})

/** The whole input of an operation: the members of its request body, and members that are not in the body. */
export const inputOf = (request: Schema, beside: Record<string, Schema>, required: readonly string[] = []): Schema => {
  if (request.oneOf !== undefined) {
    const { oneOf, ...rest } = request
    return { type: 'object', ...rest, oneOf: oneOf.map((form) => inputOf(form, beside, required)) }
  }
  const all = [...required, ...(request.required ?? [])]
  return {
    type: 'object',
    ...(request.description === undefined ? {} : { description: request.description }),
    properties: { ...beside, ...request.properties },
    ...(all.length === 0 ? {} : { required: all }),
    additionalProperties: false,
  }
}
