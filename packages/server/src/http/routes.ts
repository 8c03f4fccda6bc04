import type { Awaitable } from '../core/awaitable.ts'
import type { Need } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import * as handle from './handlers.ts'
import type { OperationId } from './openapi/operations.ts'

export interface Route {
  /** Under which it is described: see openapi/operations.ts. */
  operation: OperationId
  /** What the key must allow. */
  need: Need
  /** How the handler reads the body: `readBody` or `readStream` of the exchange. Absent: it takes none. */
  body?: 'text' | 'stream'
  handler: (exchange: Exchange) => Awaitable<Response>
}

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

export type RouteTable = Record<string, Partial<Record<Method, Route>>>

const readOrDeleteRecord: Partial<Record<Method, Route>> = {
  GET: { operation: 'getRecord', need: 'read', handler: handle.handleGetRecord },
  DELETE: { operation: 'deleteRecord', need: 'write', handler: handle.handleDeleteRecord },
}

/**
 * Every route that needs a key. `query`, `batch` and `restore` are verbs only for POST: records whose hash key is
 * one of these words are read and deleted like any other.
 */
export const routes: RouteTable = {
  '/v1': { GET: { operation: 'listDatabases', need: 'read', handler: handle.handleListDatabases } },
  '/v1/:db': { GET: { operation: 'listTables', need: 'read', handler: handle.handleListTables } },
  '/v1/:db/:table': {
    GET: { operation: 'describeTable', need: 'read', handler: handle.handleDescribeTable },
    POST: { operation: 'createTable', need: 'write', body: 'text', handler: handle.handleCreateTable },
    PUT: { operation: 'putRecord', need: 'write', body: 'text', handler: handle.handlePutRecord },
    DELETE: { operation: 'deleteTable', need: 'write', handler: handle.handleDeleteTable },
  },
  '/v1/:db/:table/query': {
    ...readOrDeleteRecord,
    POST: { operation: 'queryRecords', need: 'read', body: 'text', handler: handle.handleQuery },
  },
  '/v1/:db/:table/batch': {
    ...readOrDeleteRecord,
    POST: { operation: 'applyBatch', need: 'write', body: 'text', handler: handle.handleBatch },
  },
  '/v1/:db/:table/restore': {
    ...readOrDeleteRecord,
    POST: { operation: 'restoreTable', need: 'write', body: 'text', handler: handle.handleRestoreTable },
  },
  '/v1/:db/:table/:hashKey': readOrDeleteRecord,
  '/v1/:db/:table/:hashKey/:rangeKey': readOrDeleteRecord,
  '/api/keys': {
    GET: { operation: 'listApiKeys', need: 'keys', handler: handle.handleListApiKeys },
    POST: { operation: 'createApiKey', need: 'keys', body: 'text', handler: handle.handleCreateApiKey },
  },
  '/api/keys/:id': { DELETE: { operation: 'revokeApiKey', need: 'keys', handler: handle.handleRevokeApiKey } },
}

/** Routes that need no key and answer GET and HEAD alone. */
export const openRoutes = {
  '/healthz': 'checkHealth',
  '/readyz': 'checkReadiness',
  '/openapi.json': 'getDescription',
  '/docs': 'getDocsPage',
} as const satisfies Record<string, OperationId>

/** The last segment of a path when it is a word, not a parameter: the hash key of a record of that name. */
export const literalHashKey = (path: string): string | undefined => /^\/v1\/:db\/:table\/([a-z]+)$/.exec(path)?.[1]

export const allowedMethods = (methods: Partial<Record<Method, unknown>>): string => {
  const names = Object.keys(methods)
  if (names.includes('GET')) names.push('HEAD')
  return [...names, 'OPTIONS'].sort().join(', ')
}
