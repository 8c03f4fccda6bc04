import { Cubby, type CubbyOptions } from '../src/index.ts'
import { key, optionsOf, type Reply, silence, url } from './fake-fetch.ts'

export interface SentFile {
  method: string
  /** The path with the query string, as it went out. */
  path: string
  headers: Record<string, string>
  /** The body as text. */
  body: string
  /** `half` for a streamed body. */
  duplex: string | undefined
}

/** A bucket over a `fetch` that reads the body, then answers; one reply for each request. It keeps what was sent. */
export const fakeBucket = (replies: Reply[], options: Partial<CubbyOptions> = {}) => {
  const requests: SentFile[] = []
  const fetch = async (target: string, init: RequestInit & { duplex?: string }) => {
    const answer = replies[requests.length]
    const { method, headers, duplex } = init
    const sent = { method: method!, path: target.replace(url, ''), headers: headers as Record<string, string>, duplex }
    const request = { ...sent, body: '' }
    requests.push(request)
    init.signal!.throwIfAborted()
    // As the real one, it rejects when the signal aborts.
    request.body = await Promise.race([new Response(init.body as Blob).text(), silence(init.signal!)])
    if (answer === undefined) throw new Error(`request ${requests.length} was not expected`)
    if (answer instanceof Error) throw answer
    return answer
  }
  const cubby = new Cubby({ fetch, ...optionsOf({ url, key }, options) })
  return { bucket: cubby.db('app').bucket('avatars'), buckets: cubby.db('app').buckets, requests, fetch }
}

export const fileRecord = {
  name: 'a.txt',
  size: 5,
  contentType: 'text/plain',
  visibility: 'private',
  sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  metadata: {},
  updatedAt: 7,
  url: null,
} as const
