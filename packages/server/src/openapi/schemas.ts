import type { ErrorResponse } from '@cubbydb/client'
import { errorCodes } from '../core/error-codes.ts'
import { requestIdCharactersMax } from '../core/limits.ts'
import type { EntryPoint } from '../http/respond.ts'
import { freeObject, objectOf, type Schema, times } from '../operations/schema.ts'
import { schemas as operationSchemas } from '../operations/schemas.ts'
import { meanings } from './errors.ts'

/** A schema of the catalogue with its references changed to those of OpenAPI. */
export const asComponent = <T extends object>(schema: T): T =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))

/** The schemas that only HTTP has. */
const httpSchemas = {
  EntryPoint: objectOf<EntryPoint>('Where everything is.', ['name', 'version', 'docs', 'openapi', 'skill', 'llms'], {
    name: { type: 'string', enum: ['Cubby'] },
    version: { type: 'string', description: 'The version of the server.' },
    docs: { type: 'string', description: 'The URL of the description for people.' },
    openapi: { type: 'string', description: 'The URL of the description for programs.' },
    console: { type: 'string', description: 'The URL of the console, a web page. Absent if it is switched off.' },
    skill: { type: 'string', description: 'The URL of the skill for agents.' },
    llms: { type: 'string', description: 'The URL of the list of pages for agents.' },
    mcp: { type: 'string', description: 'The URL of the tools for agents (MCP). Absent if they are switched off.' },
  }),
  Health: {
    type: 'object',
    description: 'The server is alive or ready.',
    properties: { status: { type: 'string', enum: ['ok', 'ready'] } },
    required: ['status'],
  },
  OpenApi: {
    type: 'object',
    description: 'An OpenAPI document.',
    properties: {
      openapi: { type: 'string', pattern: '^3\\.1\\.' },
      info: freeObject('Title, version and introduction.'),
    },
    required: ['openapi', 'info'],
    additionalProperties: true,
  },
  Page: { type: 'string', description: 'HTML.' },
  Markdown: { type: 'string', description: 'Markdown in UTF-8.' },
  SkillIndex: {
    type: 'object',
    description: 'The skills that the server publishes.',
    properties: {
      $schema: { type: 'string', description: 'The version of the format.' },
      skills: {
        type: 'array',
        description: 'One skill.',
        items: {
          type: 'object',
          description: 'A skill.',
          properties: {
            name: { type: 'string', description: 'The name of the skill.' },
            type: { type: 'string', enum: ['skill-md'] },
            description: { type: 'string', description: 'What the skill is for, and when to use it.' },
            url: { type: 'string', description: 'Where the skill is.' },
            digest: {
              type: 'string',
              pattern: '^sha256:[0-9a-f]{64}$',
              description: 'The SHA-256 of the bytes at that URL, before any compression.',
            },
          },
          required: ['name', 'type', 'description', 'url', 'digest'],
        },
      },
    },
    required: ['$schema', 'skills'],
  },
  Error: objectOf<ErrorResponse>('The body of every error.', ['error'], {
    error: objectOf<ErrorResponse['error']>('The error.', ['code', 'message', 'requestId'], {
      code: {
        type: 'string',
        enum: errorCodes,
        'x-enumDescriptions': meanings,
        description: 'For programs. Later versions may add codes; no code is removed or changes its meaning.',
      },
      message: { type: 'string', description: 'For people: what was found and what was expected.' },
      field: {
        type: 'string',
        description: 'The path of the wrong field: `data.status`, `operations[3].hashKey`.',
      },
      hint: { type: 'string', description: 'The suggested next step, if there is one.' },
      count: {
        type: 'integer',
        ...times,
        description: 'Of a load that has ended with this error: the number of lines that are stored.',
      },
      requestId: { type: 'string', maxLength: requestIdCharactersMax, description: 'The same as `X-Request-Id`.' },
    }),
  }),
} satisfies Record<string, Schema>

export const schemas = { ...asComponent(operationSchemas), ...httpSchemas }

export type SchemaName = keyof typeof schemas

export const refTo = (name: SchemaName): Schema => ({ $ref: `#/components/schemas/${name}` })
