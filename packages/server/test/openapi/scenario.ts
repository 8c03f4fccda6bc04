import type { Json } from '../harness.ts'

// Reads the document as an outsider would, without the code that generates it. Examples with the same name belong together,
// wherever they are in an operation.

export interface Operation {
  id: string
  method: string
  /** The path as OpenAPI writes it: `/v1/{db}`. */
  path: string
  object: Json
}

const methods = ['get', 'head', 'put', 'post', 'patch', 'delete', 'options']

export const operationsOf = (document: Json): Operation[] =>
  Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method] !== undefined)
      .map((method) => ({
        id: item[method].operationId,
        method: method.toUpperCase(),
        path,
        object: item[method],
      })),
  )

export const resolve = (document: Json, value: Json): Json => {
  if (value?.$ref === undefined) return value
  const steps: string[] = value.$ref.slice(2).split('/')
  const found = steps.reduce((at, step) => at?.[step], document)
  if (found === undefined) throw new Error(`${value.$ref} leads nowhere`)
  return resolve(document, found)
}

export const parametersOf = (document: Json, { object }: Operation): Json[] =>
  (object.parameters ?? []).map((parameter: Json) => resolve(document, parameter))

export interface Response {
  status: number
  description: string
  headers: Record<string, Json>
  content: Record<string, Json>
  codes: string[]
}

export const responsesOf = (document: Json, { object }: Operation): Response[] =>
  Object.entries<Json>(object.responses).map(([status, value]) => {
    const { description, headers = {}, content = {}, 'x-error-codes': codes = [] } = resolve(document, value)
    const resolved = Object.entries<Json>(headers).map(([name, header]) => [name, resolve(document, header)])
    return { status: Number(status), description, headers: Object.fromEntries(resolved), content, codes }
  })

/** The codes that an answer may have. */
export const codesOf = ({ codes }: Response): string[] => codes

export interface Scenario {
  operation: Operation
  name: string
  /** The target with its query string. */
  target: string
  headers: Record<string, string>
  body: Json
  bytes: { type: string; text: string } | undefined
  given: Json[]
  response: Response
  answer: Json
  answerHeaders: Record<string, string>
}

/** Names of the operation's own examples. Examples by reference are shared by many operations. */
const namesOf = (document: Json, operation: Operation): string[] => {
  const holders = [
    ...parametersOf(document, operation).map(({ examples }) => examples),
    ...Object.values<Json>(operation.object.requestBody?.content ?? {}).map(({ examples }) => examples),
    ...responsesOf(document, operation).flatMap(({ headers, content }) =>
      [...Object.values(headers), ...Object.values(content)].map(({ examples }) => examples),
    ),
  ]
  const own = holders.flatMap((examples) => Object.entries<Json>(examples ?? {}))
  return [...new Set(own.filter(([, example]) => example.$ref === undefined).map(([name]) => name))]
}

const answerOf = (document: Json, operation: Operation, name: string) => {
  const found = responsesOf(document, operation).flatMap((response) => {
    const example = Object.values(response.content)[0]?.examples?.[name]
    const shown = Object.entries(response.headers).filter(([, header]) => header.examples?.[name] !== undefined)
    if (example === undefined && shown.length === 0) return []
    const answerHeaders = Object.fromEntries(shown.map(([header, { examples }]) => [header, examples[name].value]))
    const rejected = example?.['x-request-body']
    const given = [example, ...shown.map(([, { examples }]) => examples[name])].flatMap((one) => one?.['x-given'] ?? [])
    return [{ response, answer: example?.value, given, answerHeaders, rejected }]
  })
  if (found.length !== 1) throw new Error(`${operation.id}: the example ${name} has ${found.length} answers`)
  return found[0]!
}

const scenario = (document: Json, operation: Operation, name: string): Scenario => {
  const values = parametersOf(document, operation).flatMap(({ name: parameter, in: where, example, examples }) => {
    const value = examples?.[name]?.value ?? (where === 'path' ? example : undefined)
    return value === undefined ? [] : [{ parameter, where, value: String(value) }]
  })
  const of = (where: string) =>
    values.filter((value) => value.where === where).map(({ parameter, value }): [string, string] => [parameter, value])
  const filled = of('path').reduce(
    // The name of a file has several segments.
    (path, [parameter, value]) => path.replace(`{${parameter}}`, value.split('/').map(encodeURIComponent).join('/')),
    operation.path,
  )
  const query = new URLSearchParams(of('query')).toString()
  const { rejected, ...answered } = answerOf(document, operation, name)
  return {
    operation,
    name,
    target: query === '' ? filled : `${filled}?${query}`,
    headers: Object.fromEntries(of('header')),
    ...sentOf(operation, name, rejected),
    ...answered,
  }
}

/** The body, as JSON or as bytes. The type of the bytes is in the line of curl: OpenAPI allows no parameter for it. */
const sentOf = ({ object }: Operation, name: string, rejected: Json): Pick<Scenario, 'body' | 'bytes'> => {
  const [type, media] = Object.entries<Json>(object.requestBody?.content ?? {})[0] ?? []
  const value = media?.examples?.[name]?.value ?? rejected
  if (type === undefined || type === 'application/json') return { body: value, bytes: undefined }
  const { source } = object['x-codeSamples'][object['x-sample-examples'].indexOf(name)]
  return { body: undefined, bytes: { type: /-H 'Content-Type: ([^']+)'/.exec(source)![1]!, text: value } }
}

export const scenariosOf = (document: Json, operation: Operation): Scenario[] =>
  namesOf(document, operation).map((name) => scenario(document, operation, name))
