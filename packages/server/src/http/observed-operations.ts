import { consoleOperations } from './console-door.ts'
import { doorRoutes } from './files-door.ts'
import { mcpOperation } from './mcp-door.ts'
import { operationRoutes } from './routes/operation-routes.ts'
import { openRoutes } from './routes.ts'

/** The names of everything that can be requested, as the log and the metrics have them. */
export const observedOperations: readonly string[] = [
  ...Object.keys(operationRoutes),
  ...Object.values(openRoutes),
  ...Object.values(doorRoutes).map(({ operationId }) => operationId),
  mcpOperation,
  ...consoleOperations,
]
