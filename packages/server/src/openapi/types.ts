import type { ErrorCode } from '../core/errors.ts'
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
  /** The body as it is sent, instead of JSON. */
  bytes?: string
  /** Headers beside those that every request has. */
  headers?: Record<string, string>
  answer?: unknown
}

export interface ExampleObject {
  summary?: string
  value?: unknown
  'x-given'?: GivenStep[]
  /** The body of the request of an error's example, which need not match its schema. */
  'x-request-body'?: unknown
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
  /** Absent if the HTTP parser answers. */
  headers?: Record<string, Header | Reference>
  content?: Record<string, MediaType>
  /** The error codes that the answer may have. */
  'x-error-codes'?: ErrorCode[]
}

/** A code sample as other tools read it, which take no further members. */
export interface CodeSample {
  lang: string
  label: string
  source: string
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
  /** The name of the example in parameters, bodies and responses, for each code sample. */
  'x-sample-examples'?: string[]
}

export const httpMethods = ['get', 'head', 'put', 'post', 'patch', 'delete', 'options'] as const
export type HttpMethod = (typeof httpMethods)[number]

export type PathItem = { [M in HttpMethod]?: OperationObject }

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
