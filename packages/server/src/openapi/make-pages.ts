import type { Page } from '../http/respond.ts'
import { makeDocument } from './document.ts'
import { contentSecurityPolicy, renderPage } from './page/render.ts'
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

// A blob, because all answers share its bytes. Bun copies a buffer for each answer and keeps the copy until the client has
// read it.

export const documentPage = once<Page>(() => ({
  body: new Blob([JSON.stringify(document())]),
  headers: { 'Content-Type': 'application/json' },
}))

export const docsPage = once<Page>(() => ({
  body: new Blob([renderPage(document())]),
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy,
    'Referrer-Policy': 'no-referrer',
  },
}))
