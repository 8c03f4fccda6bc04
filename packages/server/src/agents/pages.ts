import type { PageName } from '../mcp/resources.ts'
import { Template, texts, withMcpPart, withWorkingLinks } from './template.ts'

// The pages that agents read as resources of MCP.

const neighbours = {
  'http-api.md': 'cubby:///api.md',
  'errors.md': 'cubby:///errors.md',
  'modelling.md': 'cubby:///queries.md',
}

const sources: Record<PageName, string> = {
  api: texts.api,
  errors: texts.errors,
  queries: texts.modelling,
  skill: withMcpPart(texts.skill, true),
}

const made = new Map<PageName, Template>()

const templateOf = (name: PageName): Template => {
  let template = made.get(name)
  if (template === undefined) {
    template = new Template(withWorkingLinks(sources[name], neighbours))
    made.set(name, template)
  }
  return template
}

/** `baseUrl` is the address at which the caller reached the server. */
export const readAgentPage = (name: PageName, baseUrl: string): string => templateOf(name).fill(baseUrl)
