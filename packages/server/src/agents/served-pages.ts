import { agentBasesMax, agentPagesEveryMs } from '../core/limits.ts'
import type { AgentPages, AgentPath, Page } from '../http/pages.ts'
import { Template, texts, withMcpPart, withWorkingLinks } from './template.ts'

// The pages for readers without MCP, sent by HTTP.

const markdown = 'text/markdown; charset=utf-8'

const contentTypes: Record<AgentPath, string> = {
  '/SKILL.md': markdown,
  '/docs.md': markdown,
  '/llms.txt': 'text/plain; charset=utf-8',
  '/.well-known/agent-skills/index.json': 'application/json',
}

/** Agent Skills discovery, draft 0.2.0. */
const skillIndexSchema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

const frontmatter = (skill: string, member: string): string =>
  new RegExp(`^${member}: (.+)$`, 'm').exec(skill.split('\n---\n')[0]!)![1]!

/**
 * The index by which programs find skills. `skill` is the text that the same server sends to the same address: programs compare
 * its digest.
 */
const skillIndex = (skill: string, baseUrl: string): string => {
  const digest = new Bun.CryptoHasher('sha256').update(skill).digest('hex')
  const entry = {
    name: frontmatter(skill, 'name'),
    type: 'skill-md',
    description: frontmatter(skill, 'description'),
    url: `${baseUrl}/SKILL.md`,
    digest: `sha256:${digest}`,
  }
  return `${JSON.stringify({ $schema: skillIndexSchema, skills: [entry] }, null, 2)}\n`
}

type PagesOfBase = Record<AgentPath, Page>

/**
 * Pages with the address of the server in them. It is `Host` of the request, the caller's own text: there may be any number of
 * addresses. So pages are kept for the few that were used last, and compressed at most once in a while. Between that, a new
 * address gets its pages made anew and not compressed, which takes the time of copying them.
 */
export const servedAgentPages = (hasMcp: boolean, now: () => number = () => performance.now()): AgentPages => {
  let templates: { skill: Template; llms: Template; docs: Template } | undefined
  const getTemplates = () => {
    templates ??= {
      skill: new Template(withMcpPart(texts.skill, hasMcp)),
      llms: new Template(withMcpPart(texts.llms, hasMcp)),
      // The errors and the models of data are resources of MCP; by HTTP, only this page is served.
      docs: new Template(withWorkingLinks(texts.api, {})),
    }
    return templates
  }

  const textOf = (path: AgentPath, baseUrl: string): [text: string, template: Template] => {
    const { skill, llms, docs } = getTemplates()
    if (path === '/.well-known/agent-skills/index.json') return [skillIndex(skill.fill(baseUrl), baseUrl), skill]
    const template = path === '/SKILL.md' ? skill : path === '/llms.txt' ? llms : docs
    return [template.fill(baseUrl), template]
  }

  const make = (path: AgentPath, baseUrl: string, isCompressed: boolean): Page => {
    const [text, template] = textOf(path, baseUrl)
    const version = new Bun.CryptoHasher('sha256').update(`${template.version} ${path} ${baseUrl}`).digest('base64url')
    return {
      body: new Blob([text]),
      ...(isCompressed && { gzipped: new Blob([Bun.gzipSync(text)]) }),
      version: version.slice(0, 22),
      // A shared cache may keep it. The tag depends on the address, so that no caller gets a page with another one's.
      headers: { 'Content-Type': contentTypes[path], 'Cache-Control': 'no-cache' },
    }
  }

  /** The one that was used last is at the end. */
  const kept = new Map<string, PagesOfBase>()
  let madeAtMs = Number.NEGATIVE_INFINITY

  const keptPages = (baseUrl: string): PagesOfBase | undefined => {
    const found = kept.get(baseUrl)
    if (found !== undefined) kept.delete(baseUrl)
    else if (now() - madeAtMs < agentPagesEveryMs) return undefined
    else madeAtMs = now()
    const paths = Object.keys(contentTypes) as AgentPath[]
    const pages = found ?? (Object.fromEntries(paths.map((path) => [path, make(path, baseUrl, true)])) as PagesOfBase)
    kept.set(baseUrl, pages)
    if (kept.size > agentBasesMax) kept.delete(kept.keys().next().value!)
    return pages
  }

  return { page: (path, baseUrl) => keptPages(baseUrl)?.[path] ?? make(path, baseUrl, false) }
}
