import type { Page } from '../http/respond.ts'
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
