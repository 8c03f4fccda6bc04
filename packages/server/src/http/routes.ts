import type { Awaitable } from '../core/awaitable.ts'
import type { KeyNeeded } from '../operations/operation.ts'
import type { Exchange } from './exchange.ts'
import { apiKeyHandlers } from './handlers/api-keys.ts'
import { bucketHandlers } from './handlers/buckets.ts'
import { fileHandlers } from './handlers/files.ts'
import { itemHandlers } from './handlers/items.ts'
import { recordHandlers } from './handlers/records.ts'
import { runHandlers } from './handlers/runs.ts'
import { tableHandlers } from './handlers/tables.ts'
import { taskHandlers } from './handlers/tasks.ts'
import { withFilePaths } from './routes/file-paths.ts'
import { operationRoutes, type RoutedOperationId } from './routes/operation-routes.ts'
import type { Method } from './routes/route.ts'

export { literalParameter, type Method } from './routes/route.ts'

type Handler = (exchange: Exchange) => Awaitable<Response>

/** A route, with what the server needs for each request. */
export interface Route<Id extends string = RoutedOperationId> {
  operationId: Id
  keyNeeded: KeyNeeded
  /**
   * How the handler reads the body: `readBody`, `readStream`, `readUpload` or `readSmallUpload` of the exchange. Absent: there
   * is no body.
   */
  body?: 'text' | 'stream' | 'upload'
  /** Its handler always waits for something, so the request is always counted as in flight. */
  waits?: true
  handler: Handler
}

const handlers: Record<RoutedOperationId, Handler> = {
  ...tableHandlers,
  ...recordHandlers,
  ...itemHandlers,
  ...bucketHandlers,
  ...fileHandlers,
  ...taskHandlers,
  ...runHandlers,
  ...apiKeyHandlers,
}

export type RouteTable = Record<string, Partial<Record<Method, Route>>>

const pathTable = (): RouteTable => {
  const table: RouteTable = {}
  for (const operationId of Object.keys(operationRoutes) as RoutedOperationId[]) {
    const { operation, method, paths, ...more } = operationRoutes[operationId]
    const { keyNeeded } = operation
    const route = {
      operationId,
      keyNeeded,
      body: 'bytes' in more ? ('upload' as const) : 'body' in more ? ('text' as const) : undefined,
      handler: handlers[operationId],
    }
    for (const path of paths) {
      table[path] ??= {}
      table[path][method] = route
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
