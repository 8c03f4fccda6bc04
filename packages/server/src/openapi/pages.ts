import { Thread } from '../core/thread.ts'
import type { Page, Pages } from '../http/pages.ts'
import { type DocumentArea, documentAreas } from './areas.ts'
import type { FromPagesThread, PageBytes, ToPagesThread } from './pages-thread.ts'

// Blobs, because all answers share their bytes. Bun copies a buffer for each answer and keeps the copy until the client has
// read it.
const pageOf = ({ body, gzipped, version, headers }: PageBytes): Page => ({
  body: new Blob([body]),
  gzipped: new Blob([gzipped]),
  version,
  headers,
})

interface Made {
  document: Promise<Page>
  docs: Promise<Page>
  parts: Promise<Record<DocumentArea, Page>>
}

/** All are rejected if the thread fails. */
const makeInThread = (publicUrl: string | undefined): Made => {
  const [document, docs] = [Promise.withResolvers<Page>(), Promise.withResolvers<Page>()]
  const parts = Promise.withResolvers<Record<DocumentArea, Page>>()
  const fail = (fault: string) => {
    for (const { promise, reject } of [document, docs, parts]) {
      // Perhaps nobody has asked for one of them.
      promise.catch(() => {})
      reject(new Error(`the descriptions of the API could not be made: ${fault}`))
    }
  }
  const thread = new Thread<ToPagesThread, FromPagesThread>(new URL('./pages-thread.ts', import.meta.url).href, {
    message: (message) => {
      if ('document' in message) return document.resolve(pageOf(message.document))
      if ('docs' in message) return docs.resolve(pageOf(message.docs))
      if ('parts' in message) {
        const pages = Object.entries(message.parts).map(([area, bytes]) => [area, pageOf(bytes)])
        parts.resolve(Object.fromEntries(pages) as Record<DocumentArea, Page>)
      } else fail(message.fault)
      thread.terminate()
    },
    lost: fail,
  })
  thread.post({ publicUrl })
  return { document: document.promise, docs: docs.promise, parts: parts.promise }
}

/**
 * The descriptions of the API, for programs and for people. They are made at the first request for one of them, because they
 * are read rarely; in a thread of their own, because they take 100 ms in which no other request would be answered; and once,
 * because they never change while the process runs.
 */
export const descriptionPages = (publicUrl?: string): Pages => {
  let made: Made | undefined
  const get = async <Name extends keyof Made>(name: Name): Promise<Awaited<Made[Name]>> => {
    made ??= makeInThread(publicUrl)
    try {
      return await made[name]
    } catch (error) {
      // The next request tries again.
      made = undefined
      throw error
    }
  }
  return {
    document: () => get('document'),
    areas: documentAreas,
    async part(area) {
      return (await get('parts'))[area as DocumentArea]
    },
    docs: () => get('docs'),
  }
}
