import type { Pages } from '../http/respond.ts'

/** Read rarely, so loaded when one is first asked for: starting does not wait for it. */
const makers = () => import('./make-pages.ts')

/** The API described, for programs and for people. */
export const descriptionPages: Pages = {
  document: async () => (await makers()).documentPage(),
  docs: async () => (await makers()).docsPage(),
}
