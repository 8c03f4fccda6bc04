import { makeDocument } from './document.ts'
import { contentSecurityPolicy, renderPage } from './page/render.ts'
import type { OpenApiDocument } from './types.ts'

/** Made when it is first asked for, and kept: it is the same for everyone until the process ends. */
const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const document = once<OpenApiDocument>(makeDocument)
// A blob, because answers share its bytes; of a buffer Bun makes a copy for each, which stays until its client has read it.
const documentBlob = once(() => new Blob([JSON.stringify(document())]))
const pageBlob = once(() => new Blob([renderPage(document())]))

const commonHeaders = (requestId: string) => ({
  'Cache-Control': 'private, no-cache',
  'X-Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Retry-After, X-Request-Id',
})

export const respondDescription = (requestId: string): Response =>
  new Response(documentBlob(), {
    headers: { ...commonHeaders(requestId), 'Content-Type': 'application/json' },
  })

export const respondDocsPage = (requestId: string): Response =>
  new Response(pageBlob(), {
    headers: {
      ...commonHeaders(requestId),
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
    },
  })
