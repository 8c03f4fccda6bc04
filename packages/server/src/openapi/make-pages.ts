import type { Page } from '../http/pages.ts'
import { makeDocument } from './document.ts'
import { renderPage } from './page/render.ts'
import type { OpenApiDocument } from './types.ts'

/** Creates the value at the first call and keeps it: it never changes while the process runs. */
const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const document = once<OpenApiDocument>(makeDocument)

// Blobs, because all answers share their bytes. Bun copies a buffer for each answer and keeps the copy until the client has
// read it.

/** Both forms are made at once: a page is compressed once for all its readers. */
const pageOf = (text: string, headers: Record<string, string>): Page => ({
  body: new Blob([text]),
  gzipped: new Blob([Bun.gzipSync(new TextEncoder().encode(text), { level: 9 })]),
  version: new Bun.CryptoHasher('sha256').update(text).digest('base64url').slice(0, 22),
  headers,
})

export const documentPage = once<Page>(() => pageOf(JSON.stringify(document()), { 'Content-Type': 'application/json' }))

export const docsPage = once<Promise<Page>>(async () => {
  const { html, contentSecurityPolicy } = await renderPage(document())
  return pageOf(html, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy,
    'Referrer-Policy': 'no-referrer',
  })
})
