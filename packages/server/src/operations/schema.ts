// JSON Schema 2020-12, as far as it is used here, and how to write it. Plain values: OpenAPI takes them as they are, and
// so does whoever lists operations for a program.

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
  minProperties?: number
  maxProperties?: number
  properties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  not?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
  /** What each member of `enum` means. */
  'x-enumDescriptions'?: Record<string, string>
}

// Objects are tied to the wire types: a field that one has and the other has not does not compile.

type RequiredKey<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T] & string
type Properties<T> = { [K in keyof T]-?: T[K] extends undefined ? never : Schema }
type OwnProperties<T> = { [K in keyof Properties<T> as Properties<T>[K] extends never ? never : K]: Schema }

export const objectOf = <T>(description: string, required: RequiredKey<T>[], properties: OwnProperties<T>): Schema => ({
  type: 'object',
  description,
  properties: properties as Record<string, Schema>,
  ...(required.length === 0 ? {} : { required }),
})

/** Of a request: a member that is not known is refused. */
export const closed = (schema: Schema): Schema => ({ ...schema, additionalProperties: false })

/** By name, among `schemas`. */
export const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` })

export const nullable = (type: string, more: Schema): Schema => ({ ...more, type: [type, 'null'] })

export const milliseconds = (description: string): Schema => ({
  type: 'integer',
  format: 'int64',
  description: `${description} Epoch milliseconds.`,
})

export const number = (value: number): string => value.toLocaleString('en-US')

/** The cursor of an answer. */
export const nextCursor = nullable('string', {
  description: 'Opaque. Null on the last page; for the next one send it back.',
})

/** The whole input of an operation: what its request has, and members that stand beside it. */
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
