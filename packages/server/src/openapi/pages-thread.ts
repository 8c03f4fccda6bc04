import { type DocumentArea, documentAreas } from './areas.ts'
import { makeDocument } from './document.ts'
import { renderPage } from './page/render.ts'
import type { OpenApiDocument } from './types.ts'

// Makes the descriptions of the API, once, beside the thread that serves.

declare const self: Worker

export interface ToPagesThread {
  publicUrl: string | undefined
}

export interface PageBytes {
  body: Uint8Array<ArrayBuffer>
  gzipped: Uint8Array<ArrayBuffer>
  /** Changes when the text does. */
  version: string
  headers: Record<string, string>
}

export type FromPagesThread =
  | { document: PageBytes }
  | { docs: PageBytes }
  | { parts: Record<DocumentArea, PageBytes> }
  | { fault: string }

const reply = (message: FromPagesThread): void => self.postMessage(message)

/** Both forms are made at once: a page is compressed once for all its readers. */
const bytesOf = (text: string, headers: Record<string, string>): PageBytes => {
  const body = new TextEncoder().encode(text)
  const version = new Bun.CryptoHasher('sha256').update(body).digest('base64url').slice(0, 22)
  return { body, gzipped: Bun.gzipSync(body, { level: 9 }), version, headers }
}

const documentBytes = (document: OpenApiDocument): PageBytes =>
  bytesOf(`${JSON.stringify(document)}\n`, { 'Content-Type': 'application/json' })

const make = async (publicUrl: string | undefined): Promise<void> => {
  const document = makeDocument(publicUrl)
  reply({ document: documentBytes(document) })
  const { html, contentSecurityPolicy } = await renderPage(document)
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy,
    'Referrer-Policy': 'no-referrer',
  }
  reply({ docs: bytesOf(html, headers) })
  const parts = documentAreas.map((area) => [area, documentBytes(makeDocument(publicUrl, area))] as const)
  reply({ parts: Object.fromEntries(parts) as Record<DocumentArea, PageBytes> })
}

self.onmessage = ({ data: { publicUrl } }: MessageEvent<ToPagesThread>) => {
  make(publicUrl).catch((error: unknown) => reply({ fault: String(error) }))
}
