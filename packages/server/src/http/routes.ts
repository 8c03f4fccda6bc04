import type { Awaitable } from '../core/awaitable.ts'
import { type Demand, keyNameIn } from '../operations/authorize.ts'
import { type RoutedOperationId, routedOperations as routed } from '../operations/catalogue.ts'
import type { Method } from '../operations/operation.ts'
import { pathNames } from '../operations/parse-input.ts'
import type { Exchange } from './exchange.ts'
import { withFilePaths } from './file-paths.ts'
import { changesHandlers } from './handlers/changes.ts'
import { fileHandlers } from './handlers/files.ts'
import { itemHandlers } from './handlers/items.ts'
import { recordHandlers } from './handlers/records.ts'
import { runHandlers } from './handlers/runs.ts'
import { withIdempotencyKey } from './idempotency.ts'
import { plainHandler } from './plain-handler.ts'
import { literalHashKey, pathsOf } from './targets.ts'

type Handler = (exchange: Exchange) => Awaitable<Response>

/** A route, with what the server needs for each request. */
export interface Route<Id extends string = RoutedOperationId> extends Demand {
  operationId: Id
  /**
   * Says how the handler reads the body: with `readBody`, with `readUpload` or `readSmallUpload`, or with `readLoad` of the
   * exchange. Absent: there is no body.
   */
  body?: 'text' | 'upload' | 'load'
  /** Its handler always waits for something, so the request is always counted as in flight. */
  waits?: true
  handler: Handler
}

/** Handlers that are written by hand, because speed or streams demand it. */
const handlers: Partial<Record<string, Handler>> = {
  ...recordHandlers,
  ...changesHandlers,
  ...itemHandlers,
  ...fileHandlers,
  ...runHandlers,
}

export type RouteTable = Record<string, Partial<Record<Method, Route>>>

/** The verbs for POST and PUT below a table, which are ordinary hash keys for other methods. */
export const verbs: readonly string[] = [
  ...new Set(routed.flatMap(({ route }) => literalHashKey(route!.path) ?? [])),
].sort()

const isOfRecord = (path: string): boolean => pathNames(path).includes('hashKey')

/** Tells whether the path names a record by a word that is a verb for other methods: `GET /v1/:db/:table/query`. */
export const isVerbAsKey = (path: string, operationId: string): boolean =>
  literalHashKey(path) !== undefined && routed.some(({ id, route }) => id === operationId && isOfRecord(route!.path))

const pathTable = (): RouteTable => {
  const table: RouteTable = {}
  for (const operation of routed) {
    const { id, keyNeeded, grants } = operation
    const { method, path, bytes, bytesType, body } = operation.route!
    const route: Route = {
      operationId: id as RoutedOperationId,
      keyNeeded,
      grants,
      keyName: keyNameIn(pathNames(path)),
      body: bytesType !== undefined ? 'load' : bytes !== undefined ? 'upload' : body !== undefined ? 'text' : undefined,
      handler: withIdempotencyKey(operation, handlers[id] ?? plainHandler(operation)),
    }
    const words = isOfRecord(path) ? verbs.map((verb) => `/v1/:db/:table/${verb}`) : []
    for (const one of [...pathsOf(operation.route!), ...words]) {
      table[one] ??= {}
      table[one][method] = route
    }
  }
  return table
}

/** Every route that needs a key, by its path. */
export const routes = pathTable()

/** `self` is a word only for GET. For DELETE it is an id like any other: no key has it, and the answer says so. */
export const servedRoutes: RouteTable = {
  ...withFilePaths(routes),
  '/api/keys/self': { ...routes['/api/keys/:id'], ...routes['/api/keys/self'] },
}

/** Routes that need no key and answer only GET and HEAD. */
export const openRoutes = {
  '/': 'getEntryPoint',
  '/healthz': 'checkHealth',
  '/readyz': 'checkReadiness',
  '/openapi.json': 'getDescription',
  '/docs': 'getDocsPage',
  '/docs.md': 'getDocsText',
  '/SKILL.md': 'getSkill',
  '/.well-known/agent-skills/index.json': 'getSkillIndex',
  '/llms.txt': 'getLlmsText',
} as const

export type OpenOperationId = (typeof openRoutes)[keyof typeof openRoutes]

export const allowedMethods = (methods: Partial<Record<Method, unknown>>): string => {
  const names = Object.keys(methods)
  if (names.includes('GET')) names.push('HEAD')
  return [...names, 'OPTIONS'].sort().join(', ')
}
