import { encodeParameter } from '../http/targets.ts'
import { pathNames } from '../operations/parse-input.ts'
import { type CurlRequest, curlLine } from './curl.ts'
import type { HttpExample } from './examples/http-example.ts'
import type { HttpOperation } from './operations.ts'
import { type ParameterName, parameterAt, parameterRef, parameters } from './parameters.ts'
import { anyBytes, isRejection } from './responses.ts'
import { refTo } from './schemas.ts'
import { pathParameters, type ServedOperation } from './served-operation.ts'
import type { CodeSample, Parameter, Reference, RequestBody } from './types.ts'

const known: Record<string, Parameter> = parameters

/** The request of an example. */
export interface ExampleRequest extends CurlRequest {
  /** Its path parameters, query parameters and headers by their names. */
  values: Record<string, string>
}

export const requestOf = (
  { method, path, operation, keyNeeded }: ServedOperation,
  { parameters: given = {}, body, bytes }: HttpExample,
): ExampleRequest => {
  const inPath = Object.fromEntries(
    pathNames(path).map((name) => [name, String(given[name] ?? known[parameterAt(path, name)]!.example)]),
  )
  const described = (operation.parameters ?? []).map((name) => known[name]!)
  const inQuery = Object.entries(given)
    .filter(([name]) => described.some((one) => one.in === 'query' && one.name === name))
    .map(([name, value]): [string, string] => [name, String(value)])
  const sent = described.filter(({ name, in: where }) => where === 'header' && given[name] !== undefined)
  const headers = {
    ...(bytes !== undefined &&
      given['Content-Type'] !== undefined && { 'Content-Type': String(given['Content-Type']) }),
    ...Object.fromEntries(sent.map(({ name }) => [name, String(given[name])])),
  }
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeParameter(name, inPath[name]!))
  return {
    method,
    target: inQuery.length === 0 ? filled : `${filled}?${new URLSearchParams(inQuery)}`,
    headers,
    body,
    bytes,
    withKey: keyNeeded !== undefined,
    values: { ...inPath, ...Object.fromEntries(inQuery), ...headers },
  }
}

export const codeSample = (served: ServedOperation, example: HttpExample): CodeSample => ({
  lang: 'Shell',
  label: example.summary,
  source: curlLine(requestOf(served, example)),
})

/** A reference, unless examples have their own values for it. */
const parameterObject = (name: ParameterName, examples: HttpExample[]): Parameter | Reference => {
  const parameter = known[name]!
  const values = examples.filter(({ parameters: given = {} }) => given[parameter.name] !== undefined)
  if (values.length === 0) return parameterRef(name)
  const { example, ...rest } = parameter
  // A path parameter is required: if one example has its own value, all examples show theirs.
  const shown = parameter.in === 'path' ? examples : values
  return {
    ...rest,
    examples: Object.fromEntries(
      shown.map(({ name: key, parameters: given = {} }) => [key, { value: given[parameter.name] ?? example }]),
    ),
  }
}

/** All parameters, those of the path too: they have the operation's own examples, and some generators mix up overrides. */
export const operationParameters = (
  { operation, path }: ServedOperation,
  examples: HttpExample[],
): (Parameter | Reference)[] =>
  [...pathParameters(path), ...(operation.parameters ?? [])].map((name) => parameterObject(name, examples))

/** Without a type any is allowed; code generators read that of the document as bytes. */
const bytesBody = (
  { description, type }: NonNullable<HttpOperation['bytes']>,
  examples: HttpExample[],
): RequestBody => {
  const shown = examples.filter(({ status }) => !isRejection(status))
  const values = shown.map(({ name, summary, bytes }) => [name, { summary, value: bytes }] as const)
  return {
    description,
    required: false,
    content: {
      [type ?? 'application/octet-stream']: {
        schema: type === undefined ? anyBytes : { type: 'string' },
        examples: Object.fromEntries(values),
      },
    },
  }
}

export const requestBody = ({ operation }: ServedOperation, examples: HttpExample[]): RequestBody | undefined => {
  if (operation.bytes !== undefined) return bytesBody(operation.bytes, examples)
  if (operation.body === undefined) return undefined
  const { schema, required, description } = operation.body
  // Examples of a body must match its schema. A rejected body is shown with its answer.
  const shown = examples.filter(({ body, status }) => body !== undefined && !isRejection(status))
  const values = shown.map(({ name, summary, body }) => [name, { summary, value: body }] as const)
  return {
    description,
    required,
    content: { 'application/json': { schema: refTo(schema), examples: Object.fromEntries(values) } },
  }
}
