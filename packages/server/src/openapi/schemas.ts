import type { ErrorResponse } from '@cubby/client'
import { errorCodes } from '../core/error-codes.ts'
import { requestIdCharactersMax } from '../core/limits.ts'
import { objectOf, type Schema } from '../operations/schema.ts'
import { schemas as operationSchemas } from '../operations/schemas.ts'
import { meanings } from './errors.ts'

/** A schema of the catalogue, with its references where OpenAPI has them. */
export const asComponent = <T extends object>(schema: T): T =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))

/** What only HTTP has. */
const httpSchemas = {
  Health: {
    type: 'object',
    description: 'All is well.',
    properties: { status: { type: 'string', enum: ['ok', 'ready'] } },
    required: ['status'],
  },
  OpenApi: {
    type: 'object',
    description: 'An OpenAPI document.',
    properties: { openapi: { type: 'string', pattern: '^3\\.1\\.' }, info: { type: 'object' } },
    required: ['openapi', 'info'],
  },
  Page: { type: 'string', description: 'HTML.' },
  Error: objectOf<ErrorResponse>('The body of every answer that is not a success.', ['error'], {
    error: objectOf<ErrorResponse['error']>('What went wrong.', ['code', 'message', 'requestId'], {
      code: {
        type: 'string',
        enum: errorCodes,
        'x-enumDescriptions': meanings,
        description: 'What a program decides by. Codes may be added; none is removed or changes its meaning.',
      },
      message: { type: 'string', description: 'For people: what was found and what was expected.' },
      field: {
        type: 'string',
        description: 'The one field at fault, as a path: `data.status`, `operations[3].hashKey`.',
      },
      hint: { type: 'string', description: 'The next step to take, where there is one to suggest.' },
      requestId: { type: 'string', maxLength: requestIdCharactersMax, description: 'As in `X-Request-Id`.' },
    }),
  }),
} satisfies Record<string, Schema>

export const schemas = { ...asComponent(operationSchemas), ...httpSchemas }

export type SchemaName = keyof typeof schemas

export const refTo = (name: SchemaName): Schema => ({ $ref: `#/components/schemas/${name}` })
