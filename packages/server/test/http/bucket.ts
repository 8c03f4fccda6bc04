import { createHash } from 'node:crypto'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { freshName, ok } from './service.ts'

export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The header that declares the digest of these bytes. */
export const contentDigest = (bytes: string | Uint8Array): string =>
  `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`

export interface PutOptions {
  /** Query parameters. */
  query?: Record<string, string>
  headers?: Record<string, string>
  chunked?: boolean
}

/** Without a Content-Type of its own, fetch would send one for text. */
const noType = { 'content-type': 'application/x-www-form-urlencoded' }

export class TestBucket {
  created: Json
  readonly api: Api
  readonly path: string

  constructor(api: Api, name: string, db = 'app') {
    this.api = api
    this.path = `/v1/${db}/_buckets/${name}`
  }

  /** Each segment of the name is percent-encoded once. */
  at(name: string, query: Record<string, string> = {}): string {
    const parameters = new URLSearchParams(query).toString()
    const path = `${this.path}/${name.split('/').map(encodeURIComponent).join('/')}`
    return parameters === '' ? path : `${path}?${parameters}`
  }

  tryPut(name: string, bytes: string | Uint8Array, options: PutOptions = {}, api = this.api): Promise<ApiResponse> {
    const { query, headers, chunked } = options
    return api.server.request('PUT', this.at(name, query), {
      key: api.key,
      body: bytes,
      headers: { ...noType, ...headers },
      chunked,
    })
  }

  async put(name: string, bytes: string | Uint8Array = name, options?: PutOptions): Promise<Json> {
    return ok(await this.tryPut(name, bytes, options))
  }

  record(name: string, headers?: Record<string, string>, api = this.api): Promise<ApiResponse> {
    return api.request('GET', this.at(name, { record: 'true' }), undefined, headers)
  }

  change(name: string, changes: unknown, headers?: Record<string, string>, api = this.api): Promise<ApiResponse> {
    return api.request('PATCH', this.at(name), changes, headers)
  }

  delete(name: string, headers?: Record<string, string>, api = this.api): Promise<ApiResponse> {
    return api.request('DELETE', this.at(name), undefined, headers)
  }

  /** The bytes of the file as text, whatever its type. */
  async read(name: string, api = this.api): Promise<string> {
    const response = await fetch(api.server.url + this.at(name), { headers: { authorization: `Bearer ${api.key}` } })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`expected 200, got ${response.status}: ${text}`)
    return text
  }

  tryQuery(query: Json = {}, api = this.api): Promise<ApiResponse> {
    return api.post(`${this.path}/query`, query)
  }

  async query(query: Json = {}, api = this.api): Promise<Json> {
    return ok(await this.tryQuery(query, api))
  }

  /** The names that a query gives, all pages. */
  async names(query: Json = {}, api = this.api): Promise<string[]> {
    const names: string[] = []
    let cursor: string | null = null
    for (let pages = 0; pages < 1_000; pages++) {
      const page: Json = await this.query({ ...query, cursor }, api)
      names.push(...page.items.map((item: Json) => item.name))
      if (page.cursor === null) return names
      cursor = page.cursor
    }
    throw new Error('the cursor never becomes null')
  }
}

/** A bucket of its own for the test. */
export const makeBucket = async (api: Api, name = freshName('b'), db = 'app'): Promise<TestBucket> => {
  const bucket = new TestBucket(api, name, db)
  bucket.created = ok(await api.post(bucket.path), 201)
  return bucket
}
