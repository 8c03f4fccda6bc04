import type { ToolSchema } from './tool.ts'

// Schemas of tools are short: every client sends all of them to its model, with every request.

export const text: ToolSchema = { type: 'string' }
export const bool: ToolSchema = { type: 'boolean' }

export const integer = (minimum?: number, more: ToolSchema = {}): ToolSchema => ({
  type: 'integer',
  ...(minimum === undefined ? {} : { minimum }),
  ...more,
})

export const described = (schema: ToolSchema, description: string): ToolSchema => ({ ...schema, description })

export const list = (items?: ToolSchema, more: ToolSchema = {}): ToolSchema => ({
  type: 'array',
  ...(items === undefined ? {} : { items }),
  ...more,
})

export const object = (properties: Record<string, ToolSchema>, required: readonly string[] = []): ToolSchema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
})

/** An object of an input: unknown members are refused. */
export const closedObject = (properties: Record<string, ToolSchema>, required: readonly string[]): ToolSchema => ({
  ...object(properties, required),
  additionalProperties: false,
})

/** A JSON object with any members. */
export const anyObject: ToolSchema = { type: 'object' }

export const db: ToolSchema = text
export const cursorIn: ToolSchema = described(text, 'of the last answer; keep the other arguments')
export const cursorOut: ToolSchema = { type: ['string', 'null'] }

export const recordKey = { hashKey: text, rangeKey: text }
export const keyOut: ToolSchema = object(recordKey)

/** A record in an answer. `dataBytes` instead of `data`: it did not fit. */
export const recordOut: ToolSchema = object({
  ...recordKey,
  data: anyObject,
  ttl: integer(),
  updatedAt: integer(),
  dataBytes: integer(),
})
