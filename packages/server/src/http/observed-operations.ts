import { routedOperations } from '../operations/catalogue.ts'
import { consoleOperations } from './console-endpoint.ts'
import { fileUrlRoutes } from './file-url-endpoint.ts'
import { mcpOperation } from './mcp-endpoint.ts'
import { openRoutes } from './routes.ts'

/** The names of everything that can be requested, as the log and the metrics have them. */
export const observedOperations: readonly string[] = [
  ...routedOperations.map(({ id }) => id),
  ...Object.values(openRoutes),
  ...Object.values(fileUrlRoutes).map(({ operationId }) => operationId),
  mcpOperation,
  ...consoleOperations,
]
