import { readAgentPage } from '../agents/pages.ts'
import type { HttpOptions } from '../http/server.ts'
import type { ServeOptions } from './serve-options.ts'

/** Undefined with --no-mcp. */
export const mcpOptions = ({ hasMcp, allowedOrigins }: ServeOptions): HttpOptions['mcp'] =>
  hasMcp ? { readPage: readAgentPage, allowedOrigins } : undefined
