import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Api, type ApiResponse, type Json, type Server, startServer } from '../harness.ts'
import { Random, testSeed } from '../model/random.ts'
import { contentDigest, makeBucket, sha256, type TestBucket } from './bucket.ts'
import { setNow } from './clock.ts'
import { ok } from './service.ts'

// Random requests on files, compared with a naive bucket in memory. Each rule has its own test elsewhere; this one finds two
// rules that break each other: an expired file that is replaced by a condition, made public, and listed by time.

/** CUBBY_TEST_FILE_STEPS sets another number. */
const steps = Number(process.env.CUBBY_TEST_FILE_STEPS ?? 80)
/** The clock stands on multiples of this after its start; every ttl is between two of them, so no answer is a matter of luck. */
const tickMs = 200_000

interface NaiveFile {
  name: string
  bytes: string
  contentType: string
  visibility: 'private' | 'public'
  metadata: string
  ttl: number | undefined
  updatedAt: number
  /** Files of one millisecond are listed in the order of their creation. */
  created: number
}

const segments = ['a', 'ab', 'b', 'é', '😀', '\u{ff5e}', 'a b', '%41', '#', '?', 'query', 'url', '.a', '~', '+']
const types: [string, string][] = [
  ['', 'application/octet-stream'],
  ['.TXT', 'text/plain'],
  ['.svg', 'image/svg+xml'],
]

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

class Walk {
  readonly random: Random
  readonly files = new Map<string, NaiveFile>()
  server!: Server
  secret!: Api
  reader!: Api
  bucket!: TestBucket
  startMs = 0
  tick = 0
  #latestTick = 0
  #created = 0

  constructor(random: Random) {
    this.random = random
  }

  async start(server: Server): Promise<void> {
    const { secretKey, publicKey } = await server.createOrganization()
    this.server = server
    this.secret = server.as(secretKey)
    this.reader = server.as(publicKey)
    this.startMs = Date.now()
    this.bucket = await makeBucket(this.secret)
  }

  get #nowSeconds(): number {
    return Math.floor((this.startMs + this.tick * tickMs) / 1000)
  }

  #live(name: string): NaiveFile | undefined {
    const file = this.files.get(name)
    return file?.ttl !== undefined && file.ttl <= this.#nowSeconds + 50 ? undefined : file
  }

  #name(): string {
    const known = [...this.files.keys()]
    if (known.length > 0 && this.random.chance(0.6)) return this.random.pick(known)
    const parts = Array.from({ length: this.random.int(1, 3) }, () => this.random.pick(segments))
    return parts.join('/') + this.random.pick(types)[0]
  }

  #ttl(): number | undefined {
    if (this.random.chance(0.6)) return undefined
    return this.#nowSeconds + 100 + this.random.int(-1, 5) * (tickMs / 1000)
  }

  #condition(name: string, isPut: boolean): { headers: Record<string, string>; holds: boolean } {
    const found = this.#live(name)
    return this.random.weighted<{ headers: Record<string, string>; holds: boolean }>([
      [6, { headers: {}, holds: true }],
      [1, { headers: { 'if-match': '*' }, holds: found !== undefined }],
      [2, { headers: { 'if-match': `"${this.files.get(name)?.updatedAt ?? 7}"` }, holds: found !== undefined }],
      [1, { headers: { 'if-match': '"7"' }, holds: false }],
      [1, { headers: { 'if-match': `"${sha256(found?.bytes ?? '')}"` }, holds: false }],
      ...(isPut ? [[2, { headers: { 'if-none-match': '*' }, holds: found === undefined }] as const] : []),
    ])
  }

  #json(file: NaiveFile, url = this.#url(file)): Json {
    const { name, bytes, contentType, visibility, metadata, ttl, updatedAt } = file
    const head = { name, size: Buffer.byteLength(bytes), contentType, visibility, sha256: sha256(bytes) }
    const rest = { metadata: JSON.parse(metadata), ...(ttl !== undefined && { ttl }), updatedAt, url }
    return { ...head, ...rest }
  }

  #url({ name, visibility }: Pick<NaiveFile, 'name' | 'visibility'>): string | null {
    const path = name.split('/').map(encodeURIComponent).join('/')
    return visibility === 'private' ? null : `${this.server.url}/files/${this.bucket.created.id}/${path}`
  }

  #expectError(answer: ApiResponse, status: number, code: string): void {
    expect([answer.status, answer.body?.error?.code]).toEqual([status, code])
  }

  async put(): Promise<void> {
    const { random } = this
    const name = this.#name()
    const bytes = random.pick(['', 'x', 'é', name, 'y'.repeat(random.int(1, 3_000))])
    const contentType = random.pick([undefined, 'text/html; charset="a"', 'Image/PNG'])
    const visibility = random.pick([undefined, 'private', 'public'] as const)
    const metadata = random.pick([undefined, '{}', '{ "a" : 1.0 , "é": "+ %41" }'])
    const ttl = this.#ttl()
    const { headers, holds } = this.#condition(name, true)
    const query = Object.entries({ visibility, metadata, ttl }).filter(([, value]) => value !== undefined)
    const answer = await this.bucket.tryPut(name, bytes, {
      query: Object.fromEntries(query.map(([key, value]) => [key, String(value)])),
      headers: {
        ...headers,
        ...(contentType !== undefined && { 'content-type': contentType }),
        ...(random.chance(0.3) && { 'content-digest': contentDigest(bytes) }),
      },
      chunked: random.chance(0.3),
    })
    if (!holds) return this.#expectError(answer, 412, 'precondition_failed')
    const old = this.#live(name)
    const byName = types.find(([ending]) => ending !== '' && name.endsWith(ending))?.[1] ?? types[0]![1]
    const file: NaiveFile = {
      ...{ name, bytes, contentType: contentType ?? byName, visibility: visibility ?? 'private' },
      ...{ metadata: metadata ?? '{}', ttl, updatedAt: answer.body.updatedAt },
      created: old?.created ?? ++this.#created,
    }
    this.#expectWritten(answer, file, old)
    this.files.set(name, file)
  }

  #expectWritten(answer: ApiResponse, file: NaiveFile, old: NaiveFile | undefined): void {
    expect(ok(answer)).toEqual(this.#json(file))
    expect(answer.text).toContain(`"metadata":${file.metadata},`)
    expect(answer.headers.get('etag')).toBe(`"${file.updatedAt}"`)
    if (old !== undefined) expect(file.updatedAt).toBeGreaterThan(old.updatedAt)
  }

  async change(): Promise<void> {
    const { random } = this
    const name = this.#name()
    const old = this.#live(name)
    const changes: Json = { visibility: random.pick(['private', 'public']) }
    if (random.chance(0.5)) changes.contentType = 'a/b'
    if (random.chance(0.5)) changes.metadata = { x: [random.int(0, 9)] }
    if (random.chance(0.5)) changes.ttl = this.#ttl() ?? null
    const { headers, holds } = this.#condition(name, false)
    const answer = await this.bucket.change(name, changes, headers)
    if (!holds) return this.#expectError(answer, 412, 'precondition_failed')
    if (old === undefined) return this.#expectError(answer, 404, 'file_not_found')
    const { ttl = old.ttl, metadata, ...others } = changes
    const file: NaiveFile = {
      ...{ ...old, ...others, ttl: ttl ?? undefined, updatedAt: answer.body.updatedAt },
      ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
    }
    this.#expectWritten(answer, file, old)
    this.files.set(name, file)
  }

  async remove(): Promise<void> {
    const name = this.#name()
    const { headers, holds } = this.#condition(name, false)
    const answer = await this.bucket.delete(name, headers)
    if (!holds) return this.#expectError(answer, 412, 'precondition_failed')
    expect(ok(answer)).toEqual({ deleted: this.#live(name) !== undefined })
    if (this.#live(name) !== undefined) this.files.delete(name)
  }

  /** The record, the bytes with each kind of key, the permanent URL and a signed one. */
  async read(): Promise<void> {
    const name = this.#name()
    const file = this.#live(name)
    const isPublic = file?.visibility === 'public'
    const record = await this.bucket.record(name)
    if (file === undefined) this.#expectError(record, 404, 'file_not_found')
    else expect(ok(record)).toEqual(this.#json(file))
    const open = await this.bucket.record(name, {}, this.reader)
    if (file === undefined) this.#expectError(open, 404, 'file_not_found')
    else if (isPublic) expect(ok(open)).toEqual(this.#json(file))
    else this.#expectError(open, 403, 'private_file')
    const signed = await this.secret.post(`${this.bucket.path}/url`, { name, expiresIn: 60 })
    if (file === undefined) this.#expectError(signed, 404, 'file_not_found')
    const permanent = this.#url({ name, visibility: 'public' })!
    await this.#expectBytes(permanent, isPublic ? file : undefined)
    if (file !== undefined) await this.#expectBytes(ok(signed).url, file)
  }

  async #expectBytes(url: string, file: NaiveFile | undefined): Promise<void> {
    const response = await fetch(url)
    const text = await response.text()
    expect([url, response.status]).toEqual([url, file === undefined ? 404 : 200])
    if (file === undefined) return
    expect([text, response.headers.get('etag')]).toEqual([file.bytes, `"${sha256(file.bytes)}"`])
    expect(response.headers.get('content-type')).toBe(file.contentType)
  }

  async list(): Promise<void> {
    const { random } = this
    const byTime = random.chance(0.4)
    const ascending = random.pick([undefined, true, false])
    const api = random.pick([this.secret, this.reader])
    const known = [...this.files.keys()]
    const prefix =
      byTime || known.length === 0 || random.chance(0.4) ? '' : random.pick(known).slice(0, random.int(1, 3))
    if (!prefix.isWellFormed()) return
    const signs = api === this.secret && random.chance(0.3)
    const query = {
      ...(prefix !== '' && { prefix }),
      ...(byTime && { index: 't' }),
      ...(ascending !== undefined && { ascending }),
      ...(signs && { expiresIn: 60 }),
    }
    const expected = this.#listed(byTime, prefix, ascending ?? !byTime, api === this.reader)
    const items: Json[] = []
    let cursor: string | null = null
    for (let pages = 0; pages < 500; pages++) {
      const page: Json = await this.bucket.query({ ...query, limit: random.int(1, 8), cursor }, api)
      expect(page.count).toBe(page.items.length)
      items.push(...page.items)
      cursor = page.cursor
      if (cursor === null) break
    }
    expect(
      items.map(({ url, urlExpiresAt, ...item }) => (urlExpiresAt === undefined ? { ...item, url } : item)),
    ).toEqual(
      expected.map((file) => {
        const { url, ...json } = this.#json(file)
        return signs && url === null ? json : { ...json, url }
      }),
    )
    expect(ok(await this.bucket.tryQuery({ ...query, select: 'count' }, api))).toEqual({
      ...{ items: [], count: expected.length, cursor: null },
    })
  }

  #listed(byTime: boolean, prefix: string, ascending: boolean, publicOnly: boolean): NaiveFile[] {
    const all = [...this.files.keys()].flatMap((name) => this.#live(name) ?? [])
    const found = all.filter((file) => file.name.startsWith(prefix) && (!publicOnly || file.visibility === 'public'))
    found.sort((a, b) => (byTime ? a.updatedAt - b.updatedAt || a.created - b.created : compareBytes(a.name, b.name)))
    return ascending ? found : found.reverse()
  }

  /** Forward, or back by one tick: what has just expired is visible again. Any more, and a sweep may have removed it. */
  moveClock(): void {
    const mayGoBack = this.tick > 0 && this.tick === this.#latestTick
    this.tick += this.random.weighted([
      [5, 1],
      [1, 4],
      [mayGoBack ? 2 : 0, -1],
    ])
    this.#latestTick = Math.max(this.#latestTick, this.tick)
    this.setClock()
  }

  setClock(): void {
    setNow(this.server, this.startMs + this.tick * tickMs)
  }

  /** Deleted and restored: everything is as it was. Or made anew under the name: empty. */
  async replaceBucket(): Promise<void> {
    ok(await this.secret.delete(this.bucket.path))
    this.#expectError(await this.bucket.tryQuery(), 404, 'bucket_not_found')
    if (this.random.chance(0.7)) {
      ok(await this.secret.post(`${this.bucket.path}/restore`))
      return
    }
    const { id } = this.bucket.created
    this.bucket.created = ok(await this.secret.post(this.bucket.path), 201)
    expect(this.bucket.created.id).not.toBe(id)
    this.files.clear()
  }

  async step(): Promise<void> {
    await this.random.weighted<() => unknown>([
      [10, () => this.put()],
      [5, () => this.change()],
      [3, () => this.remove()],
      [5, () => this.read()],
      [4, () => this.list()],
      [1, () => this.moveClock()],
      [0.2, () => this.replaceBucket()],
    ])()
  }
}

test('random requests on files are answered as a naive bucket in memory answers them', async () => {
  const seed = testSeed()
  const server = await startServer({ clock: true })
  const walk = new Walk(new Random(seed))
  try {
    await walk.start(server)
    for (let step = 0; step < steps; step++) {
      if (step % 50 === 0) walk.setClock()
      await walk.step()
    }
    await walk.list()
    const verified = await server.cubby('verify', '--bytes', '--files', join(server.dataDir, 'files'))
    expect(verified).toMatchObject({ exitCode: 0, stderr: '' })
  } catch (error) {
    ;(error as Error).message = `CUBBY_TEST_SEED=${seed} shows this again.\n${(error as Error).message}`
    throw error
  } finally {
    await server.stop()
  }
}, 600_000)
