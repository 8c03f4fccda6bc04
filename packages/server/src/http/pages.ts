import { exposedHeaders } from './respond.ts'

/** An answer that is the same for every caller. */
export interface Page {
  body: Blob
  /** The same text compressed. Answers with records are never compressed: that would take time of the thread that serves. */
  gzipped: Blob
  /** Changes when the text does. */
  version: string
  headers: Record<string, string>
}

/** The descriptions of the API. The server only sends them; other code creates them. */
export interface Pages {
  document(): Promise<Page>
  docs(): Promise<Page>
}

/** How much the client wants a coding, 0 to 1; undefined if it does not name it. */
const qualityOf = (acceptEncoding: string, coding: string): number | undefined => {
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim())
    if (name !== coding) continue
    const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))
    return quality === undefined ? 1 : Number(quality.replace(/^q\s*=\s*/, ''))
  }
  return undefined
}

/** Whether the client accepts gzip, and does not prefer the plain text. */
export const acceptsGzip = (acceptEncoding: string | null): boolean => {
  const of = (coding: string) => qualityOf(acceptEncoding ?? '', coding)
  const gzip = of('gzip') ?? of('x-gzip') ?? of('*') ?? 0
  return gzip > 0 && gzip >= (of('identity') ?? 0)
}

/** Weak: one tag for both forms, so that a copy of one also revalidates the other. */
const isCurrent = (ifNoneMatch: string | null, version: string): boolean => {
  if (ifNoneMatch === null) return false
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === `"${version}"`)
  )
}

export const respondPage = (requestId: string, request: Request, page: Page): Response => {
  const headers = {
    ETag: `W/"${page.version}"`,
    'Cache-Control': 'private, no-cache',
    Vary: 'Accept-Encoding',
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': exposedHeaders,
    ...page.headers,
  }
  if (isCurrent(request.headers.get('if-none-match'), page.version)) return new Response(null, { status: 304, headers })
  if (!acceptsGzip(request.headers.get('accept-encoding'))) return new Response(page.body, { headers })
  return new Response(page.gzipped, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
}
