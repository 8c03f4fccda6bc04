import type { Pages } from '../http/pages.ts'

/** Loaded at the first request for a page: they are read rarely, and the start does not wait for them. */
const makers = () => import('./make-pages.ts')

/** The descriptions of the API, for programs and for people. */
export const descriptionPages: Pages = {
  document: async () => (await makers()).documentPage(),
  docs: async () => (await makers()).docsPage(),
}
