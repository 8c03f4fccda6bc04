import packageJson from '../../package.json' with { type: 'json' }
import { errorCodes } from '../core/error-codes.ts'
import { fileUrlPath, fileUrlRoutes } from '../http/file-url-endpoint.ts'
import { isVerbAsKey, openRoutes, type Route, routes } from '../http/routes.ts'
import type { RoutedOperationId } from '../operations/catalogue.ts'
import { exampleStore } from '../operations/example.ts'
import type { KeyNeeded, Method } from '../operations/operation.ts'
import type { Schema } from '../operations/schema.ts'
import { chaptersOf, type DocumentArea } from './areas.ts'
import { errorBody, sharedErrors } from './error-examples.ts'
import { meanings } from './errors.ts'
import { givenStep } from './examples/http-example.ts'
import { introduction } from './introduction.ts'
import { type HttpOperationId, tags } from './operations.ts'
import {
  type HeaderName,
  headerComponent,
  headers,
  type ParameterName,
  parameterComponent,
  parameters,
} from './parameters.ts'
import { codeSample, operationParameters, requestBody } from './requests.ts'
import { responsesOf, sharedResponseObjects } from './responses.ts'
import { schemas } from './schemas.ts'
import { examplesAt, type ServedOperation, servedOperation } from './served-operation.ts'
import type { ExampleObject, Header, OpenApiDocument, OperationObject, Parameter, PathItem } from './types.ts'

const security: Record<KeyNeeded, OperationObject['security']> = {
  read: [{ secretKey: [] }, { publicKey: [] }],
  write: [{ secretKey: [] }],
  'manage-keys': [{ secretKey: [] }],
  operator: [],
}

/** An operation may be on several paths, but each id must be unique. */
const nameAt = (served: ServedOperation): Pick<OperationObject, 'operationId' | 'summary' | 'description'> => {
  const { id, operation, path } = served
  const { summary, description } = operation
  if (!path.endsWith('/:rangeKey')) return { operationId: id, summary, description }
  return { operationId: `${id}WithRangeKey`, summary: operation.summaryWithRangeKey ?? summary, description }
}

const operationObject = (served: ServedOperation): OperationObject => {
  const { operation, keyNeeded, takesTokens } = served
  const examples = examplesAt(served)
  const own = operationParameters(served, examples)
  const body = requestBody(served, examples)
  return {
    ...nameAt(served),
    tags: [operation.tag],
    security: keyNeeded === undefined ? [] : [...security[keyNeeded], ...(takesTokens ? [{ userToken: [] }] : [])],
    ...(own.length > 0 && { parameters: own }),
    ...(body && { requestBody: body }),
    responses: responsesOf(served, examples),
    'x-codeSamples': examples.map((example) => codeSample(served, example)),
    'x-sample-examples': examples.map(({ name }) => name),
  }
}

/** The order for readers, independent of the order in the route table. */
const methodOrder = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Every GET route also answers HEAD. It is described only where its headers contain a version. */
const describedHeads: Partial<Record<RoutedOperationId, HttpOperationId>> = {
  getRecord: 'headRecord',
  getItem: 'headItem',
}

const servedOf = (path: string, methods: Partial<Record<Method, Route>>): ServedOperation[] => {
  // A record whose hash key is also a verb is described with all others: generated clients would get a function for each.
  const described = Object.entries(methods).filter(([, { operationId }]) => !isVerbAsKey(path, operationId))
  const served = described.map(([method, route]) => servedOperation(route.operationId, method as Method, path, route))
  const get = methods.GET
  const head = get === undefined || isVerbAsKey(path, get.operationId) ? undefined : describedHeads[get.operationId]
  if (head !== undefined) served.push(servedOperation(head, 'HEAD', path, get!))
  // Every path answers OPTIONS in the same way, so one description is enough.
  if (path === '/v1') served.push(servedOperation('preflight', 'OPTIONS', path))
  return served.sort((a, b) => methodOrder.indexOf(a.method) - methodOrder.indexOf(b.method))
}

/** The URLs of files, which need no key. */
const ownEndpoints = (): ServedOperation[] => [
  servedOperation(fileUrlRoutes.GET.operationId, 'GET', fileUrlPath),
  servedOperation('headFileByUrl', 'HEAD', fileUrlPath),
  servedOperation(fileUrlRoutes.PUT.operationId, 'PUT', fileUrlPath),
]

/** `/v1/:db/:table` in the notation of OpenAPI. */
const templated = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

const pathItem = (served: ServedOperation[]): PathItem =>
  Object.fromEntries(served.map((served) => [served.method.toLowerCase(), operationObject(served)]))

/** Operations that are served, by their id in the document. */
export const servedById = (): Map<string, ServedOperation> =>
  new Map(servedPaths().flatMap(([, served]) => served.map((served) => [nameAt(served).operationId, served])))

// ── The document ───────────────────────────────────────────────────────────────────────────────────────────

const bearer = (prefix: string, description: string) => ({
  type: 'http' as const,
  scheme: 'bearer' as const,
  bearerFormat: `${prefix} and 38 letters and digits`,
  description,
})

/** Keeps only components that are referenced: one with its own example values is inlined instead. */
const referredTo = <T>(kind: string, named: Record<string, T>, text: string): Record<string, T> =>
  Object.fromEntries(Object.entries(named).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)))

const allParameters = (): Record<string, Parameter> =>
  Object.fromEntries(
    (Object.keys(parameters) as ParameterName[]).map((name) => [parameterComponent(name), parameters[name]]),
  )

const allHeaders = (): Record<string, Header> =>
  Object.fromEntries((Object.keys(headers) as HeaderName[]).map((name) => [headerComponent(name), headers[name]]))

const sharedExamples = (): Record<string, ExampleObject> =>
  Object.fromEntries(
    errorCodes.flatMap((code) => {
      const error = sharedErrors[code]
      return error === undefined ? [] : [[code, { summary: meanings[code], value: errorBody(code, error) }]]
    }),
  )

/** Every path with what is served there. */
const servedPaths = (): [string, ServedOperation[]][] => [
  ...Object.entries(routes).map(([path, methods]): [string, ServedOperation[]] => [path, servedOf(path, methods)]),
  [fileUrlPath, ownEndpoints()],
  ...Object.entries(openRoutes).map(([path, id]): [string, ServedOperation[]] => [
    path,
    [servedOperation(id, 'GET', path)],
  ]),
]

/** The schemas that a text refers to, and those that they refer to. */
const schemasFor = (text: string): OpenApiDocument['components']['schemas'] => {
  for (let seen = text; ; ) {
    const found = referredTo<Schema>('schemas', schemas, seen)
    const more = text + JSON.stringify(found)
    if (more === seen) return found
    seen = more
  }
}

/**
 * `publicUrl` is the address at which callers reach the server, with its prefix if it has one. With an area it is the part of
 * the document that has the paths of that area, and what they refer to.
 */
export const makeDocument = (publicUrl = '/', area?: DocumentArea): OpenApiDocument => {
  const isIn = (tag: string): boolean => area === undefined || (chaptersOf[area] as readonly string[]).includes(tag)
  const served = servedPaths()
    .map(([path, there]) => [path, there.filter(({ operation }) => isIn(operation.tag))] as const)
    .filter(([, there]) => there.length > 0)
  const paths = Object.fromEntries(served.map(([path, there]) => [templated(path), pathItem(there)]))
  const all = sharedResponseObjects()
  const responses = area === undefined ? all : referredTo('responses', all, JSON.stringify(paths))
  const refers = JSON.stringify([paths, responses])
  const partOf = {
    parameters: referredTo('parameters', allParameters(), refers),
    headers: referredTo<Header>('headers', allHeaders(), refers),
  }
  const text = refers + JSON.stringify(partOf)
  const examples = sharedExamples()
  return {
    openapi: '3.1.0',
    info: {
      title: 'Cubby',
      version: packageJson.version,
      summary:
        'A schemaless document store: JSON records in tables, found by key, by recency and by declared indices; files in buckets.',
      description: introduction,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: publicUrl, description: 'The server that sent this document.' }],
    tags: Object.entries(tags)
      .filter(([name]) => isIn(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: area === undefined ? schemas : schemasFor(text),
      ...partOf,
      responses,
      examples: area === undefined ? examples : referredTo('examples', examples, text),
      securitySchemes: {
        secretKey: bearer(
          'svc_live_',
          'Reads and writes. For servers only: rejected if a web page from another origin sends it.',
        ),
        publicKey: bearer('svc_pub_', 'Reads records, tables, runs and public files. Safe in browsers.'),
        userToken: bearer('svc_user_', 'Does what its grants name for one user, for a short time. Made for browsers.'),
      },
    },
    'x-given': exampleStore.map(givenStep),
  }
}
