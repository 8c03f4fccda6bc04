import type { PageName } from '../mcp/resources.ts'

export const readAgentPage = (name: PageName, baseUrl: string): string => `# ${name}\n\n${baseUrl}\n`
