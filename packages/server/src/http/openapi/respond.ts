import { sharedBody } from '../answers.ts'
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
const documentBytes = once(() => Buffer.from(JSON.stringify(document())))
const pageBytes = once(() => Buffer.from(renderPage(document())))

const commonHeaders = (requestId: string) => ({
  'Cache-Control': 'private, no-cache',
  'X-Request-Id': requestId,
  'X-Content-Type-Options': 'nosniff',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'ETag, Retry-After, X-Request-Id',
})

export const respondDescription = (requestId: string): Response =>
  new Response(sharedBody(documentBytes()), {
    headers: { ...commonHeaders(requestId), 'Content-Type': 'application/json' },
  })

export const respondDocsPage = (requestId: string): Response =>
  new Response(sharedBody(pageBytes()), {
    headers: {
      ...commonHeaders(requestId),
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
    },
  })
