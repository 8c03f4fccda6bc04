import { afterAll, beforeAll, expect, setDefaultTimeout } from 'bun:test'
import type { StartOptions } from '../harness.ts'
import {
  type Api,
  type ApiResponse,
  eventually,
  type Json,
  type Organization,
  type Server,
  startServer,
} from '../harness.ts'

// Each file of these tests begins with this: one server, two organizations, and short words for what tests do most.

setDefaultTimeout(120_000)

export interface Service {
  server: Server
  org: Organization
  /** The callers with the organization's secret key, and with its public one. */
  api: Api
  reader: Api
  /** Another organization on the same server. */
  otherOrg: Organization
  stranger: Api
  /** A table of its own for the test, in database `app`. */
  table(indices?: Json): Promise<TestTable>
}

let names = 0
/** A name that no other test uses. */
export const freshName = (prefix = 't'): string => `${prefix}${++names}`

/** One server for the file, the shared one unless it has options: made before its first test, stopped after its last. */
export const useService = (options: StartOptions = { shared: true }): Service => {
  const service = {} as Service
  beforeAll(async () => {
    const server = await startServer(options)
    service.server = server
    const [org, otherOrg] = [await server.createOrganization(), await server.createOrganization()]
    Object.assign(service, {
      org,
      otherOrg,
      api: server.as(org.secretKey),
      reader: server.as(org.publicKey),
      stranger: server.as(otherOrg.secretKey),
      table: (indices?: Json) => makeTable(service.api, indices),
    })
  })
  afterAll(async () => {
    await service.server?.stop()
  })
  return service
}

export const makeTable = async (api: Api, indices?: Json, name = freshName(), db = 'app'): Promise<TestTable> => {
  const table = new TestTable(api, db, name)
  table.created = ok(await api.post(table.path, indices === undefined ? undefined : { indices }), 201)
  return table
}

/** The body of an answer that must have this status. */
export const ok = (answer: ApiResponse, status = 200): Json => {
  if (answer.status !== status) {
    throw new Error(`expected ${status}, got ${answer.status}: ${answer.text.slice(0, 1000)}`)
  }
  return answer.body
}

/** Fails unless the answer is this error; gives the error to look into. */
export const refused = (answer: ApiResponse, status: number, code: string, field?: string): Json => {
  const error = answer.body?.error
  expect({ status: answer.status, code: error?.code, ...(field === undefined ? {} : { field: error?.field }) }).toEqual(
    {
      status,
      code,
      ...(field === undefined ? {} : { field }),
    },
  )
  return error
}

export interface QueryPage {
  items: Json[]
  count: number
  cursor: string | null
}

export class TestTable {
  created: Json
  readonly api: Api
  readonly db: string
  readonly name: string

  constructor(api: Api, db: string, name: string) {
    this.api = api
    this.db = db
    this.name = name
  }

  get path(): string {
    return `/v1/${this.db}/${this.name}`
  }

  /** The path of a record, each part percent-encoded once. */
  at(hashKey: string, rangeKey?: string): string {
    const hash = `${this.path}/${encodeURIComponent(hashKey)}`
    return rangeKey === undefined ? hash : `${hash}/${encodeURIComponent(rangeKey)}`
  }

  tryPut(record: Json, headers?: Record<string, string>): Promise<ApiResponse> {
    return this.api.put(this.path, record, headers)
  }

  /** Puts a record, with `rangeKey`, `ttl` in `more`. */
  async put(hashKey: string, data: Json = {}, more: Json = {}): Promise<Json> {
    return ok(await this.tryPut({ hashKey, data, ...more }))
  }

  get(hashKey: string, rangeKey?: string): Promise<ApiResponse> {
    return this.api.get(this.at(hashKey, rangeKey))
  }

  delete(hashKey: string, rangeKey?: string): Promise<ApiResponse> {
    return this.api.delete(this.at(hashKey, rangeKey))
  }

  tryQuery(query: Json): Promise<ApiResponse> {
    return this.api.post(`${this.path}/query`, query)
  }

  async query(query: Json): Promise<QueryPage> {
    const page = ok(await this.tryQuery(query))
    const members = Object.keys(page).filter((name) => name !== 'hint')
    expect(members.sort()).toEqual(['count', 'cursor', 'items'])
    expect(page.count).toBe(page.items.length)
    return page
  }

  /** Every page until the cursor is null. */
  async pages(query: Json): Promise<QueryPage[]> {
    const pages: QueryPage[] = []
    for (let cursor: string | null = null; ; ) {
      const page: QueryPage = await this.query({ ...query, cursor })
      pages.push(page)
      if (page.cursor === null) return pages
      if (pages.length > 10_000) throw new Error('the cursor never becomes null')
      cursor = page.cursor
    }
  }

  async items(query: Json): Promise<Json[]> {
    return (await this.pages(query)).flatMap((page) => page.items)
  }

  /** The hash keys that a query gives, all pages. */
  async hashes(query: Json): Promise<string[]> {
    return (await this.items(query)).map((item) => item.hashKey)
  }

  /** The range keys that a query gives, all pages; `#` for a record without one. */
  async ranges(query: Json): Promise<string[]> {
    return (await this.items(query)).map((item) => item.rangeKey ?? '#')
  }

  tryBatch(operations: Json, headers?: Record<string, string>): Promise<ApiResponse> {
    return this.api.post(`${this.path}/batch`, { operations }, headers)
  }

  async batch(operations: Json[]): Promise<void> {
    expect(ok(await this.tryBatch(operations))).toEqual({ count: operations.length })
  }

  /** Puts many records, 25 a batch, in order. */
  async fill(records: Json[]): Promise<void> {
    for (let i = 0; i < records.length; i += 25) {
      await this.batch(records.slice(i, i + 25).map((record) => ({ op: 'put', data: {}, ...record })))
    }
  }
}

/** A key made through the API; `key` is its text. */
export const createKey = async (api: Api, request: Json = { kind: 'secret' }): Promise<Json> =>
  ok(await api.post('/api/keys', request), 201)

export const createRevokedKey = async (api: Api, request?: Json): Promise<Json> => {
  const key = await createKey(api, request)
  ok(await api.delete(`/api/keys/${key.id}`))
  return key
}

/** A key whose `expiresAt` has passed by the server's clock. */
export const createExpiredKey = async (api: Api, request: Json = { kind: 'secret' }): Promise<Json> => {
  // Soon, but not so soon that it has passed before the request arrives: then it is refused, and another time is tried.
  let answer: ApiResponse
  let aheadMs = 400
  do {
    answer = await api.post('/api/keys', { ...request, expiresAt: Date.now() + aheadMs })
    aheadMs *= 3
  } while (answer.body?.error?.field === 'expiresAt' && aheadMs < 60_000)
  const key = ok(answer, 201)
  await eventually('the key expires', async () =>
    (await api.server.as(key.key).get('/v1')).status === 401 ? true : undefined,
  )
  return key
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The checksum of the key format: CRC-32 in six base62 digits, most significant first. */
export const keyChecksum = (text: string): string => {
  let rest = BigInt(Bun.hash.crc32(text))
  let digits = ''
  for (let i = 0; i < 6; i++) {
    digits = base62[Number(rest % 62n)] + digits
    rest /= 62n
  }
  return digits
}

/** A well-formed key that was never created. */
export const unknownKey = (kind: 'live' | 'pub' = 'live'): string => {
  // Never a valid name: one in 25 would be, if it had no capital letter.
  const body = `svc_${kind}_Z${crypto.randomUUID().replaceAll('-', '').slice(1)}`
  return body + keyChecksum(body)
}

/** The same key with its last character changed: the form is right, the checksum is not. */
export const wrongChecksum = (key: string): string => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')

/** A ttl that has passed, and not so long ago that it is refused. */
export const justPast = (): number => Math.floor(Date.now() / 1000) - 60

/** Runs `work` for each item, a bounded number at once. */
export const inParallel = async <T>(items: T[], width: number, work: (item: T) => Promise<unknown>): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < items.length) await work(items[next++]!)
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker))
}
