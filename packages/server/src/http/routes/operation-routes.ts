import { apiKeyRoutes } from './api-keys.ts'
import { bucketRoutes } from './buckets.ts'
import { fileRoutes } from './files.ts'
import { itemRoutes } from './items.ts'
import { recordRoutes } from './records.ts'
import { literalHashKey, type OperationRoute, pathParameters } from './route.ts'
import { runRoutes } from './runs.ts'
import { tableRoutes } from './tables.ts'
import { taskRoutes } from './tasks.ts'

/** Every route that needs an API key, by the id of its operation. */
export const operationRoutes = {
  ...tableRoutes,
  ...recordRoutes,
  ...itemRoutes,
  ...bucketRoutes,
  ...fileRoutes,
  ...taskRoutes,
  ...runRoutes,
  ...apiKeyRoutes,
} satisfies Record<string, OperationRoute>

export type RoutedOperationId = keyof typeof operationRoutes

const byId: Readonly<Record<string, OperationRoute | undefined>> = operationRoutes

/** Whether the path names a record by a word that is a verb for POST: `GET /v1/:db/:table/query`. */
export const isVerbAsKey = (path: string, operationId: string): boolean =>
  literalHashKey(path) !== undefined && byId[operationId]!.paths.some((one) => pathParameters(one).includes('hashKey'))

/** The verbs for POST below a table, which are ordinary hash keys for other methods. */
export const verbs: readonly string[] = [
  ...new Set(Object.values(byId).flatMap((route) => route!.paths.flatMap((path) => literalHashKey(path) ?? []))),
].sort()

export const findRoute = (operationId: string): OperationRoute | undefined => byId[operationId]
