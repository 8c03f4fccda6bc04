import { acceptsGzip } from './accept.ts'
import { matchesIfNoneMatch } from './conditions.ts'
import { exposedHeaders } from './respond.ts'
import { noteBody } from './response-notes.ts'

/** An answer that does not depend on the caller. */
export interface Page {
  body: Blob
  /**
   * The same text compressed. Answers with records are never compressed: that would take time of the thread that serves.
   * Absent: the page is not compressed for this caller.
   */
  gzipped?: Blob
  /** Changes when the text does. Absent: the text is another one for each answer, and caches are told no tag. */
  version?: string
  headers: Record<string, string>
}

/** The descriptions of the API. The server only sends them; other code creates them. */
export interface Pages {
  document(): Promise<Page>
  /** The parts of the document by their names. */
  readonly areas: readonly string[]
  part(area: string): Promise<Page>
  docs(): Promise<Page>
}

/** Pages for agents, and for other readers without MCP. */
export type AgentPath = '/SKILL.md' | '/.well-known/agent-skills/index.json' | '/llms.txt' | '/docs.md'

export interface AgentPages {
  /** `baseUrl` is the address at which the caller reached the server. */
  page(path: AgentPath, baseUrl: string): Page
}

/** The console for people. */
export interface ConsolePages {
  page(): Promise<Page>
  /** A file that the page loads; undefined if none has this name. */
  file(name: string): Promise<Page | undefined>
}

export const respondPage = (requestId: string, request: Request, page: Page): Response => {
  const { version } = page
  const headers = {
    // Weak: one tag for both forms, so that a copy of one also revalidates the other.
    ...(version !== undefined && { ETag: `W/"${version}"` }),
    'Cache-Control': 'private, no-cache',
    Vary: 'Accept-Encoding',
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': exposedHeaders,
    ...page.headers,
  }
  if (version !== undefined && matchesIfNoneMatch(request.headers, version)) {
    return new Response(null, { status: 304, headers })
  }
  const isPlain = page.gzipped === undefined || !acceptsGzip(request.headers.get('accept-encoding'))
  if (isPlain) return noteBody(new Response(page.body, { headers }), page.body)
  const response = new Response(page.gzipped, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  return noteBody(response, page.gzipped!)
}
