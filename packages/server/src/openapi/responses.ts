import { errorCodes } from '../core/error-codes.ts'
import type { ErrorCode } from '../core/errors.ts'
import { requestHeadBytesMax } from '../core/limits.ts'
import { statusOf } from '../http/status.ts'
import { binaryBytes, type Schema } from '../operations/schema.ts'
import { accessCodes, bodyCodes, meanings } from './errors.ts'
import type { HttpExample } from './examples/http-example.ts'
import type { ResponseDescription } from './operations.ts'
import { type HeaderName, headerField, headerRef, headers } from './parameters.ts'
import { refTo } from './schemas.ts'
import { pathParameters, type ServedOperation } from './served-operation.ts'
import type { ExampleObject, Examples, Header, MediaType, OperationObject, Reference, ResponseObject } from './types.ts'

const everywhere: HeaderName[] = ['X-Request-Id', 'Access-Control-Allow-Origin', 'Access-Control-Expose-Headers']

const commonHeaders: HeaderName[] = [...everywhere, 'Cache-Control']

/** Headers of every response at the URL of a file. */
const safetyHeaders: HeaderName[] = [
  'X-Content-Type-Options',
  'Referrer-Policy',
  'Cross-Origin-Resource-Policy',
  'Content-Security-Policy: files',
]

/** Headers of responses with bytes. */
const bytesHeaders: HeaderName[] = ['Accept-Ranges', 'Repr-Digest', 'Content-Disposition', ...safetyHeaders]

const headersOfSuccess = ({ method, operation }: ServedOperation): HeaderName[] => {
  // The browser may cache a preflight; it has its own header for that.
  if (method === 'OPTIONS') return everywhere
  if (operation.isShared) return [...everywhere, 'Cache-Control: shared']
  if (!operation.byUrl) return commonHeaders
  return [...everywhere, method === 'PUT' ? 'Cache-Control' : 'Cache-Control: URL', ...safetyHeaders]
}

const headersOfError = ({ operation }: ServedOperation): HeaderName[] =>
  operation.byUrl ? [...everywhere, 'Cache-Control: errors', ...safetyHeaders] : commonHeaders

/** A response without a body has `x-given` on the header. */
const headerExample = ({ headers: shown, response, given }: HttpExample, name: HeaderName): ExampleObject => ({
  value: shown![headerField(name)],
  ...(response === undefined && given && { 'x-given': given }),
})

const headerObject = (name: HeaderName, examples: HttpExample[]): Header | Reference => {
  const values = examples.filter(({ headers: shown = {} }) => shown[headerField(name)] !== undefined)
  if (values.length === 0) return headerRef(name)
  const { example, ...rest }: Header = headers[name]
  return { ...rest, examples: Object.fromEntries(values.map((shown) => [shown.name, headerExample(shown, name)])) }
}

const headerObjects = (names: HeaderName[], examples: HttpExample[] = []): ResponseObject['headers'] =>
  Object.fromEntries(names.map((name) => [headerField(name), headerObject(name, examples)]))

/** The headers of bytes in an answer that may also be JSON. */
const headersIfBytes = (): ResponseObject['headers'] =>
  Object.fromEntries(
    bytesHeaders.map((name): [string, Header] => [headerField(name), { ...headers[name], required: false }]),
  )

/** Bytes of any type. */
export const anyBytes: Schema = { type: 'string', format: 'binary' }

export const isRejection = (status: number): boolean => status >= 400

const responseExamples = (examples: HttpExample[]): Examples =>
  Object.fromEntries(
    examples.map(({ name, summary, response, given, status, body, bytes }) => [
      name,
      {
        summary,
        value: response,
        ...(given && { 'x-given': given }),
        ...(isRejection(status) && (body ?? bytes) !== undefined && { 'x-request-body': body ?? bytes }),
      },
    ]),
  )

const schemaOf = (schema: NonNullable<ResponseDescription['schema']>): Schema =>
  Array.isArray(schema) ? { anyOf: schema.map((name) => refTo(name)) } : refTo(schema)

const successResponse = (served: ServedOperation, all: HttpExample[], status: number): ResponseObject => {
  const {
    description,
    schema,
    contentType = 'application/json',
    bytes,
    headers = [],
  } = served.operation.responses[status]!
  const examples = all.filter((example) => example.status === status)
  const names = [...headersOfSuccess(served), ...(bytes === 'only' ? bytesHeaders : []), ...headers]
  const response = {
    description,
    headers: { ...headerObjects(names, examples), ...(bytes === 'or JSON' && headersIfBytes()) },
  }
  const binary = bytes && { 'application/octet-stream': { schema: anyBytes } as MediaType }
  // An answer to HEAD has the headers of the bytes only.
  if (schema === undefined && (binary === undefined || served.method === 'HEAD')) return response
  const shown = examples.filter((example) => example.response !== undefined)
  const media: MediaType = { schema: schema === undefined ? anyBytes : schemaOf(schema) }
  if (shown.length > 0) media.examples = responseExamples(shown)
  if (schema === undefined) return { ...response, content: { 'application/octet-stream': media } }
  return { ...response, content: { [contentType]: media, ...binary } }
}

const errorHeaders: Record<number, HeaderName[]> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  416: ['Content-Range: size'],
  503: ['Retry-After'],
}

const codeOf = ({ response }: HttpExample): ErrorCode => (response as { error: { code: ErrorCode } }).error.code

const errorResponse = (
  status: number,
  codes: ErrorCode[],
  all: HttpExample[] = [],
  common = commonHeaders,
): ResponseObject => {
  const own = all.filter((example) => example.status === status)
  const shared = codes.filter((code) => !own.some((example) => codeOf(example) === code))
  return {
    description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join('\n\n'),
    headers: headerObjects([...common, ...(errorHeaders[status] ?? [])]),
    content: {
      'application/json': {
        schema: refTo('Error'),
        examples: {
          ...responseExamples(own),
          ...Object.fromEntries(shared.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
    },
    // A schema with these codes only would be another class in generated clients for each answer.
    'x-error-codes': codes,
  }
}

/** Answers that are the same for all operations that have them. */
const sharedResponses: Record<string, { status: number; codes: ErrorCode[] }> = {
  Unauthorized: {
    status: 401,
    codes: ['missing_api_key', 'invalid_api_key', 'expired_api_key', 'invalid_token', 'expired_token'],
  },
  MethodNotAllowed: { status: 405, codes: ['method_not_allowed'] },
  UnsupportedMediaType: { status: 415, codes: ['unsupported_media_type'] },
  InternalError: { status: 500, codes: ['internal'] },
  ReadFailed: { status: 500, codes: ['internal', 'store_damaged'] },
  WriteFailed: { status: 500, codes: ['internal', 'store_damaged', 'outcome_unknown'] },
  Unavailable: { status: 503, codes: ['unavailable'] },
  StorageFull: { status: 507, codes: ['storage_full'] },
}

/** The HTTP parser answers this before there is a request: without a body, and without the headers of other answers. */
const headersTooLarge: ResponseObject = {
  description: `The request line and the headers are larger than ${binaryBytes(requestHeadBytesMax)} together, or there are more than about 200 headers. This answer has no body and no \`X-Request-Id\`.`,
}

export const sharedResponseObjects = (): Record<string, ResponseObject> => ({
  ...Object.fromEntries(
    Object.entries(sharedResponses).map(([name, { status, codes }]) => [name, errorResponse(status, codes)]),
  ),
  HeadersTooLarge: headersTooLarge,
})

const errorResponseOrReference = (
  served: ServedOperation,
  status: number,
  codes: ErrorCode[],
  examples: HttpExample[],
): ResponseObject | Reference => {
  // Answers at the URL of a file have headers of their own.
  if (served.operation.byUrl) return errorResponse(status, codes, examples, headersOfError(served))
  const same = Object.entries(sharedResponses).find(([, shared]) => shared.codes.join() === codes.join())
  return same === undefined ? errorResponse(status, codes, examples) : { $ref: `#/components/responses/${same[0]}` }
}

/** The codes of the operation and those that HTTP adds, in the order of `errorCodes`. */
const codesOf = ({ operation, path, keyNeeded }: ServedOperation): ErrorCode[] => {
  const names = pathParameters(path)
  const codes = new Set<ErrorCode>([
    ...operation.codes,
    'method_not_allowed',
    ...(names.length > 0 ? (['route_not_found'] as const) : []),
    ...(operation.body === undefined ? [] : bodyCodes),
    ...(keyNeeded === undefined ? [] : accessCodes(keyNeeded, names.includes('db') || names.includes('collection'))),
  ])
  return errorCodes.filter((code) => codes.has(code))
}

export const responsesOf = (served: ServedOperation, examples: HttpExample[]): OperationObject['responses'] => {
  const responses: OperationObject['responses'] = {}
  for (const status of Object.keys(served.operation.responses).map(Number)) {
    responses[status] = successResponse(served, examples, status)
  }
  responses[431] = { $ref: '#/components/responses/HeadersTooLarge' }
  if (served.method === 'OPTIONS') return responses
  for (const [status, codes] of Map.groupBy(codesOf(served), (code) => statusOf[code])) {
    // An answer to HEAD has no body, so it has no code.
    if (served.method === 'HEAD') {
      // HEAD ignores Range.
      if (status === 416) continue
      const names = [...headersOfError(served), ...(errorHeaders[status] ?? [])]
      const description = `Without a body: ${codes.map((code) => `\`${code}\``).join(', ')}.`
      responses[status] = { description, headers: headerObjects(names) }
    } else responses[status] = errorResponseOrReference(served, status, codes, examples)
  }
  return responses
}
