import { apiKeyRoutes } from './api-keys.ts'
import { recordRoutes } from './records.ts'
import type { OperationRoute } from './route.ts'
import { tableRoutes } from './tables.ts'

/** Every route that needs an API key, by the id of its operation. */
export const operationRoutes = { ...tableRoutes, ...recordRoutes, ...apiKeyRoutes } satisfies Record<
  string,
  OperationRoute
>

export type RoutedOperationId = keyof typeof operationRoutes

const byId: Readonly<Record<string, OperationRoute | undefined>> = operationRoutes

export const findRoute = (operationId: string): OperationRoute | undefined => byId[operationId]
