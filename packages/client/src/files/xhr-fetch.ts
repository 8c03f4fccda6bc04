import type { Fetch } from '../transport/transport.ts'

export interface UploadProgress {
  sentBytes: number
  /** Undefined for a stream. */
  totalBytes: number | undefined
}

/** The members that are used here. Servers have no types for `XMLHttpRequest`. */
declare const XMLHttpRequest: new () => {
  upload: { onprogress: (event: { loaded: number; total: number }) => void }
  onloadend: () => void
  readonly status: number
  readonly responseText: string
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getResponseHeader(name: string): string | null
  send(body: unknown): void
  abort(): void
}

/** `fetch` for an upload in a browser. `fetch` itself reports no progress there. */
export const xhrFetch =
  (onProgress: (progress: UploadProgress) => void): Fetch =>
  (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const xhr = new XMLHttpRequest()
      const stop = () => xhr.abort()
      xhr.open(method!, url)
      for (const [name, value] of Object.entries(headers!)) xhr.setRequestHeader(name, value)
      // Chromium has no event for an empty file. What the callback throws does not end the upload, as in an event.
      if ((body as Blob).size === 0) queueMicrotask(() => onProgress({ sentBytes: 0, totalBytes: 0 }))
      else xhr.upload.onprogress = ({ loaded, total }) => onProgress({ sentBytes: loaded, totalBytes: total })
      xhr.onloadend = () => {
        signal!.removeEventListener('abort', stop)
        if (xhr.status === 0) return reject(new TypeError('Failed to upload'))
        const headers = { 'retry-after': xhr.getResponseHeader('retry-after') ?? '' }
        resolve(new Response(xhr.responseText, { status: xhr.status, headers }))
      }
      signal!.addEventListener('abort', stop)
      xhr.send(body)
    })
