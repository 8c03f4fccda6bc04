import packageJson from '../../package.json' with { type: 'json' }
import { errorCodes } from '../core/errors.ts'
import { literalHashKey, type Method, openRoutes, type Route, routes } from '../http/routes.ts'
import type { KeyNeeded as Need } from '../operations/operation.ts'
import { errorBody, meanings, sharedErrors } from './errors.ts'
import { exampleStore } from './examples/example.ts'
import { introduction } from './introduction.ts'
import { pathOfVerb, tags } from './operations.ts'
import { headers, type ParameterName, parameterComponent, parameterRef, parameters } from './parameters.ts'
import { codeSample, operationParameters, requestBody } from './requests.ts'
import { responsesOf, sharedResponseObjects } from './responses.ts'
import { schemas } from './schemas.ts'
import { examplesAt, type Place, pathParameters, placeOf } from './served-operation.ts'
import type { ExampleObject, Header, OpenApiDocument, OperationObject, Parameter, PathItem } from './types.ts'

const security: Record<Need, OperationObject['security']> = {
  read: [{ secretKey: [] }, { publicKey: [] }],
  write: [{ secretKey: [] }],
  'manage-keys': [{ secretKey: [] }],
  operator: [],
}

const capitalized = (word: string): string => word[0]!.toUpperCase() + word.slice(1)

/** The same operation stands on several paths; ids are unique. */
const nameAt = (place: Place): Pick<OperationObject, 'operationId' | 'summary' | 'description'> => {
  const { id, operation, path, word } = place
  const { summary, description } = operation
  if (word !== undefined) {
    const named = operation.summaryNamed!(word)
    return { operationId: `${id}Named${capitalized(word)}`, summary: named, description: pathOfVerb }
  }
  if (!path.endsWith('/:rangeKey')) return { operationId: id, summary, description }
  return { operationId: `${id}WithRangeKey`, summary: operation.summaryWithRangeKey ?? summary, description }
}

const operationObject = (place: Place): OperationObject => {
  const { id, operation, need, word } = place
  const examples = examplesAt(place)
  const own = operationParameters(place, examples)
  const body = requestBody(place, examples)
  return {
    ...nameAt(place),
    tags: [operation.tag],
    security: need === undefined ? [] : security[need],
    ...(own.length > 0 && { parameters: own }),
    ...(body && { requestBody: body }),
    responses: responsesOf(place, examples),
    'x-codeSamples': examples.map((example) => codeSample(place, example)),
    ...(word !== undefined && { 'x-same-as': id }),
  }
}

/** In the order in which a reader wants them, whatever the order of the table. */
const methodOrder = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'] as const

const placesOf = (path: string, methods: Partial<Record<Method, Route>>): Place[] => {
  const places = Object.entries(methods).map(([method, { operationId, keyNeeded }]) =>
    placeOf(operationId, method as Method, path, keyNeeded),
  )
  const get = methods.GET
  // HEAD is as GET everywhere; it is worth describing where its headers tell the version.
  if (get?.operationId === 'getRecord' && literalHashKey(path) === undefined) {
    places.push(placeOf('headRecord', 'HEAD', path, get.keyNeeded))
  }
  // Every path answers it in the same way: once is enough.
  if (path === '/v1') places.push(placeOf('preflight', 'OPTIONS', path))
  return places.sort((a, b) => methodOrder.indexOf(a.method) - methodOrder.indexOf(b.method))
}

/** `/v1/:db/:table` as OpenAPI writes it. */
const templated = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

const pathItem = (path: string, places: Place[]): PathItem => ({
  parameters: [...pathParameters(path), 'X-Request-Id' as const].map(parameterRef),
  ...Object.fromEntries(places.map((place) => [place.method.toLowerCase(), operationObject(place)])),
})

// ── The document ───────────────────────────────────────────────────────────────────────────────────────────

const bearer = (prefix: string, description: string) => ({
  type: 'http' as const,
  scheme: 'bearer' as const,
  bearerFormat: `${prefix} and 38 letters and digits`,
  description,
})

/** Those that something refers to: what examples give values of their own is written out where it stands. */
const referredTo = <T>(kind: string, named: Record<string, T>, text: string): Record<string, T> =>
  Object.fromEntries(Object.entries(named).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)))

const allParameters = (): Record<string, Parameter> =>
  Object.fromEntries(
    (Object.keys(parameters) as ParameterName[]).map((name) => [parameterComponent(name), parameters[name]]),
  )

const sharedExamples = (): Record<string, ExampleObject> =>
  Object.fromEntries(
    errorCodes.flatMap((code) => {
      const error = sharedErrors[code]
      return error === undefined ? [] : [[code, { summary: meanings[code], value: errorBody(code, error) }]]
    }),
  )

export const makeDocument = (): OpenApiDocument => {
  const places: [string, Place[]][] = [
    ...Object.entries(routes).map(([path, methods]): [string, Place[]] => [path, placesOf(path, methods)]),
    ...Object.entries(openRoutes).map(([path, id]): [string, Place[]] => [path, [placeOf(id, 'GET', path)]]),
  ]
  const paths = Object.fromEntries(places.map(([path, there]) => [templated(path), pathItem(path, there)]))
  const responses = sharedResponseObjects()
  const text = JSON.stringify([paths, responses])
  return {
    openapi: '3.1.0',
    info: {
      title: 'Cubby',
      version: packageJson.version,
      summary: 'A schemaless document store: JSON records in tables, found by key, by recency and by declared indices.',
      description: introduction,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: '/', description: 'The server that this document came from.' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas,
      parameters: referredTo('parameters', allParameters(), text),
      headers: referredTo<Header>('headers', headers, text),
      responses,
      examples: sharedExamples(),
      securitySchemes: {
        secretKey: bearer(
          'svc_live_',
          'Reads and writes. For servers only: refused when a web page of another origin sends it.',
        ),
        publicKey: bearer('svc_pub_', 'Reads records and tables. Safe in browsers.'),
      },
    },
    'x-given': exampleStore,
  }
}
