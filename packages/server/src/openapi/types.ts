import type { Schema } from '../operations/schema.ts'

// The part of OpenAPI 3.1 that the document uses.

export interface Reference {
  $ref: string
}

/** A request sent before the example, and its answer if a later request depends on it. */
export interface GivenStep {
  method: string
  path: string
  body?: unknown
  answer?: unknown
}

export interface ExampleObject {
  summary?: string
  value?: unknown
  'x-given'?: GivenStep[]
}

export type Examples = Record<string, ExampleObject | Reference>

export interface Header {
  description: string
  required?: boolean
  schema: Schema
  example?: unknown
  examples?: Examples
}

export interface Parameter extends Header {
  name: string
  in: 'path' | 'query' | 'header'
}

export interface MediaType {
  schema: Schema
  examples?: Examples
}

export interface RequestBody {
  description?: string
  required: boolean
  content: Record<string, MediaType>
}

export interface ResponseObject {
  description: string
  headers: Record<string, Header | Reference>
  content?: Record<string, MediaType>
}

export interface CodeSample {
  lang: string
  label: string
  source: string
  /** The name of the example in parameters, bodies and answers. */
  example: string
}

export interface OperationObject {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: Record<string, string[]>[]
  parameters?: (Parameter | Reference)[]
  requestBody?: RequestBody
  responses: Record<string, ResponseObject | Reference>
  'x-codeSamples'?: CodeSample[]
  /** The operation that this is a special case of; the page shows both together. */
  'x-same-as'?: string
}

export const httpMethods = ['get', 'head', 'put', 'post', 'delete', 'options'] as const
export type HttpMethod = (typeof httpMethods)[number]

export type PathItem = { parameters?: (Parameter | Reference)[] } & { [M in HttpMethod]?: OperationObject }

export interface OpenApiDocument {
  openapi: string
  info: {
    title: string
    version: string
    summary: string
    description: string
    license: { name: string; identifier: string }
  }
  servers: { url: string; description: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, PathItem>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, Parameter>
    headers: Record<string, Header>
    responses: Record<string, ResponseObject>
    examples: Record<string, ExampleObject>
    securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; bearerFormat: string; description: string }>
  }
  /** The requests that set up an empty store before each example. */
  'x-given': GivenStep[]
}
