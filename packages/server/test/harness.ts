import { mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { type ApiResponse, type Json, tryJson } from './api-response.ts'
import { connectRaw, type RawConnection, type RawOptions, rawRequest } from './raw-connection.ts'

export type { ApiResponse, Json }

// The real server process on a directory of its own, and two ways to speak with it: `fetch`, and a raw socket
// for what fetch would correct before sending (paths, headers, partial bodies).

/** The program: its source, or the bundle that scripts/test.ts makes, as in the npm package. It starts in two thirds of the time. */
export const mainFile = process.env.CUBBY_TEST_MAIN || fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** The binary that is tested instead of the source: scripts/test-on-binary.ts sets it. */
const binary = process.env.CUBBY_TEST_PROGRAM || undefined

/** The words before the arguments of `cubby`. A program that is no script is a binary. */
export const cubbyCommand = (program = binary ?? mainFile): string[] =>
  /\.[jt]s$/.test(program) ? [process.execPath, program] : [program]

/** The name by which texts of the program call it. */
export const typedCommand = binary === undefined ? 'npx cubbydb' : 'cubby'

// ── The store ──────────────────────────────────────────────────────────────────────────────────────────────

/** Each data directory has a schema of its own in the database that CUBBY_TEST_STORE names. */
const schemaOf = (dataDir: string): string =>
  basename(dataDir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]/g, '_')

/**
 * Chooses the engine; nothing else does. `store` is the URL of a PostgreSQL store that the test has made itself. Without
 * it CUBBY_TEST_STORE decides: absent, the embedded engine in `dataDir`; the URL of a PostgreSQL database (see
 * scripts/test-on-postgres.ts), a schema there.
 */
export const storeArguments = (dataDir: string, store = storeUrl(dataDir)): string[] =>
  store === undefined ? ['--data', dataDir] : ['--data', dataDir, '--store', store]

/** undefined: the embedded engine in `dataDir`. */
export const storeUrl = (dataDir: string): string | undefined => {
  if (storeIsEmbedded()) return undefined
  return `${process.env.CUBBY_TEST_STORE}?options=${encodeURIComponent(`-c search_path=${schemaOf(dataDir)}`)}`
}

/** Prepares the store of `dataDir` before anything is run on it. */
const prepareStore = async (dataDir: string, store?: string): Promise<void> => {
  if (store !== undefined || storeIsEmbedded()) return
  const client = new pg.Client({ connectionString: process.env.CUBBY_TEST_STORE })
  await client.connect()
  await client.query(`create schema if not exists ${schemaOf(dataDir)}`)
  await client.end()
}

/** True if the store's files are in the data directory, for tests that look into them. */
export const storeIsEmbedded = (): boolean => (process.env.CUBBY_TEST_STORE ?? '') === ''

/** False in the quick part, `npm test`: a case that takes long is then skipped. The file runs in the rest too. */
export const isWhole = process.env.CUBBY_TEST_PART !== 'quick'

/** How often a property is tried: half as often in the quick part. */
export const runsOf = (count: number): number => (isWhole ? count : count / 2)

export const makeTempDir = (): string => mkdtempSync(join(tmpdir(), 'cubby-test-'))
export const removeTempDir = (dir: string): void => rmSync(dir, { recursive: true, force: true })

// ── Processes ──────────────────────────────────────────────────────────────────────────────────────────────

type Environment = Record<string, string | undefined>

/** The environment of the test run must not reach the process: all its flags are given here. */
const environment = (own: Environment): Environment => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('CUBBY_') && name !== 'NODE_ENV')
  // A revocation waits for the lease of a shared store: a short one keeps the tests short.
  const lease = storeIsEmbedded() ? {} : { NODE_ENV: 'test', CUBBY_TEST_LEASE_MS: '100' }
  return { ...Object.fromEntries(kept), ...lease, ...own }
}

const running = new Set<Bun.Subprocess>()
// Ends servers when a script exits. `bun test` runs no exit handlers: tests stop their servers in afterAll.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Counts the sockets that a process has open, on Linux. */
export const socketsOf = (pid: number): number => {
  const isSocket = (fd: string): boolean => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')
    } catch {
      return false
    }
  }
  return readdirSync(`/proc/${pid}/fd`).filter(isSocket).length
}

export interface CommandResult {
  exitCode: number
  stdout: string
  stderr: string
}

/** The program that is run, and its environment. */
interface RunOptions {
  env?: Environment
  /** The main file of another version's program (`programOf` in stores/kept-stores.ts), or a binary; without it, this version's. */
  program?: string
}

/** Runs `cubby …args` to its end. */
export const runCubby = async (args: string[], options: RunOptions = {}): Promise<CommandResult> => {
  const child = Bun.spawn([...cubbyCommand(options.program), ...args], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: environment(options.env ?? {}),
  })
  running.add(child)
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  running.delete(child)
  return { exitCode, stdout, stderr }
}

/** The same on the store in `dataDir`, with `--json`; throws if it fails. */
export const runCubbyJson = async (dataDir: string, args: string[], options: StoreRunOptions = {}): Promise<Json> => {
  await prepareStore(dataDir, options.store)
  const result = await runCubby([...args, ...storeArguments(dataDir, options.store), '--json'], options)
  if (result.exitCode !== 0) throw new Error(`cubby ${args.join(' ')} exited ${result.exitCode}: ${result.stderr}`)
  return JSON.parse(result.stdout)
}

interface StoreRunOptions extends RunOptions {
  /** The URL of a PostgreSQL store; see `storeArguments`. */
  store?: string
}

export interface Organization {
  id: number | string
  name: string
  secretKey: string
  publicKey: string
}

export interface StartOptions extends StoreRunOptions {
  /** A directory of the caller's, left as it is; without one a temporary directory that `stop` removes. */
  dataDir?: string
  /** More arguments for `serve`. */
  args?: string[]
  /** `--files`; null: none. Default: `files` in the data directory, which the embedded engine uses without the flag. */
  files?: string | null
  /** Gives the process a clock that `setClock` moves. */
  clock?: boolean
  readyMsMax?: number
  /** Takes the server that the test run shares, if there is one (shared-server.ts). Nothing can stop it or look into its log. */
  shared?: boolean
}

export class Server {
  url = ''
  port = 0
  /** Lines of the log of every run so far, as they came. */
  readonly logLines: string[] = []
  stdout = ''
  readonly dataDir: string
  private readonly options: StartOptions
  private readonly clockDir: string | undefined
  private child: Bun.Subprocess<'ignore', 'pipe', 'pipe'> | undefined
  private pumps: Promise<void>[] = []
  private orgCount = 0

  constructor(options: StartOptions) {
    this.options = options
    this.dataDir = options.dataDir ?? makeTempDir()
    this.clockDir = options.clock === true ? makeTempDir() : undefined
  }

  get pid(): number {
    return this.child!.pid
  }

  /** Resolves with the exit code when the process ends, for whatever reason. */
  get exited(): Promise<number> {
    return this.child!.exited
  }

  /** The variables that the clock adds to the environment; commands on its store see the same time. */
  private get clockEnvironment(): Environment {
    if (this.clockDir === undefined) return {}
    return { NODE_ENV: 'test', CUBBY_TEST_CLOCK: join(this.clockDir, 'offset') }
  }

  /** Programs of older versions do not know the flag. */
  private get filesArguments(): string[] {
    const { files, store, program } = this.options
    if (files !== undefined) return files === null ? [] : ['--files', files]
    const hasDefault = (store === undefined && storeIsEmbedded()) || program !== undefined
    return hasDefault ? [] : ['--files', join(this.dataDir, 'files')]
  }

  async start(): Promise<void> {
    const { args = [], env = {}, store, program, readyMsMax = 60_000 } = this.options
    await prepareStore(this.dataDir, store)
    const place = [...storeArguments(this.dataDir, store), ...this.filesArguments]
    const command = ['serve', ...place, '--port', '0', '--no-bootstrap', ...args]
    const child = Bun.spawn([...cubbyCommand(program), ...command], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      env: environment({ ...this.clockEnvironment, ...env }),
    })
    this.child = child
    running.add(child)
    const ready = Promise.withResolvers<string>()
    this.pumps = [
      readLines(child.stderr, (line) => {
        this.logLines.push(line)
        const entry = tryJson(line)
        if (entry?.message === 'listening') ready.resolve(entry.url)
      }),
      readLines(child.stdout, (line) => {
        this.stdout += `${line}\n`
      }),
    ]
    const gone = child.exited.then(async (code) => {
      running.delete(child)
      await Promise.all(this.pumps)
      throw new Error(`the server exited with ${code} before it was ready:\n${this.logLines.join('\n')}`)
    })
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      late.reject(new Error(`the server was not ready within ${readyMsMax} ms:\n${this.logLines.join('\n')}`))
    }, readyMsMax)
    gone.catch(() => {})
    late.promise.catch(() => {})
    try {
      this.url = await Promise.race([ready.promise, gone, late.promise])
    } finally {
      clearTimeout(timer)
    }
    this.port = Number(new URL(this.url).port)
  }

  /** Sends a signal and waits for the end; the exit code. */
  async end(signal: NodeJS.Signals): Promise<number> {
    const child = this.child!
    child.kill(signal)
    const code = await child.exited
    running.delete(child)
    await Promise.all(this.pumps)
    return code
  }

  /** Ends the process like a crash. The directory always stays. */
  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  /** Stops with SIGTERM and removes what this object made. */
  async stop(): Promise<number> {
    const code = this.child?.exitCode ?? (this.child?.signalCode == null ? await this.end('SIGTERM') : 0)
    this.remove()
    return code
  }

  remove(): void {
    if (this.options.dataDir === undefined) removeTempDir(this.dataDir)
    if (this.clockDir !== undefined) removeTempDir(this.clockDir)
  }

  /** Ends the process and starts another on the same store, at another port. */
  async restart(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child!.exitCode === null && this.child!.signalCode === null) await this.end(signal)
    await this.start()
  }

  /** Sets the process's clock this many milliseconds ahead of the real one. */
  setClock(offsetMs: number): void {
    const file = join(this.clockDir!, 'offset')
    // Renamed into place: a reader never finds the file half written.
    writeFileSync(`${file}.new`, String(Math.round(offsetMs)))
    renameSync(`${file}.new`, file)
  }

  get log(): Json[] {
    return this.logLines.map(tryJson).filter((entry) => entry !== undefined)
  }

  /** Runs a command of the same program on this server's store, while it runs. */
  cubby(...args: string[]): Promise<CommandResult> {
    const { store, program } = this.options
    return runCubby([...args, ...storeArguments(this.dataDir, store)], { env: this.clockEnvironment, program })
  }

  cubbyJson(...args: string[]): Promise<Json> {
    const { store, program } = this.options
    return runCubbyJson(this.dataDir, args, { env: this.clockEnvironment, store, program })
  }

  createOrganization(name = `org-${process.pid}-${++this.orgCount}-${crypto.randomUUID().slice(0, 8)}`) {
    return this.cubbyJson('orgs', 'create', name) as Promise<Organization>
  }

  /** Every request of this caller carries `key`. */
  as(key: string): Api {
    return new Api(this, key)
  }

  request(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    return request(this, method, path, options)
  }

  connect(): Promise<RawConnection> {
    return connectRaw(this.port)
  }

  /** One request, its target and headers sent byte for byte as given. */
  async raw(method: string, target: string | Uint8Array, options: RawOptions = {}): Promise<ApiResponse> {
    const connection = await this.connect()
    try {
      connection.send(rawRequest(this, method, target, options))
      return checkResponse(await connection.answer(method === 'HEAD'), options.key)
    } finally {
      connection.close()
    }
  }
}

/** The server that `scripts/test.ts` started for all files, with organizations that were made for them. */
class SharedServer extends Server {
  private readonly organizationsDir: string

  constructor({ url, dataDir, organizationsDir }: SharedServerFile) {
    super({ dataDir })
    this.url = url
    this.port = Number(new URL(url).port)
    this.organizationsDir = organizationsDir
  }

  override get pid(): number {
    throw notShared('pid')
  }

  override get log(): Json[] {
    throw notShared('log')
  }

  override start(): Promise<void> {
    throw notShared('start')
  }

  override end(): Promise<number> {
    throw notShared('end')
  }

  override async stop(): Promise<number> {
    return 0
  }

  /** A process for each organization would take a quarter of a second of CPU. */
  override async createOrganization(name?: string): Promise<Organization> {
    const file = name === undefined ? readdirSync(this.organizationsDir)[0] : undefined
    if (file === undefined) return super.createOrganization(name)
    const [from, own] = [join(this.organizationsDir, file), join(this.dataDir, `${process.pid}-${file}`)]
    try {
      renameSync(from, own)
    } catch {
      // Another file of tests was faster.
      return this.createOrganization()
    }
    return JSON.parse(readFileSync(own, 'utf8'))
  }
}

const notShared = (what: string): Error =>
  new Error(`${what}: this server is shared; start one without \`shared: true\``)

export interface SharedServerFile {
  url: string
  dataDir: string
  /** One file for each organization that no test has taken yet. */
  organizationsDir: string
}

export const startServer = async (options: StartOptions = {}): Promise<Server> => {
  const place = options.shared === true ? process.env.CUBBY_TEST_SERVER : undefined
  if (place !== undefined && place !== '') return new SharedServer(JSON.parse(place))
  const server = new Server(options)
  try {
    await server.start()
  } catch (error) {
    server.remove()
    throw error
  }
  return server
}

const readLines = async (stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> => {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) onLine(line)
  }
  if (rest !== '') onLine(rest)
}

// ── Requests through fetch ─────────────────────────────────────────────────────────────────────────────────

export interface RequestOptions {
  key?: string
  headers?: Record<string, string>
  /** Text and bytes are sent as they are, anything else as JSON. */
  body?: unknown
  /** Stream the body, so that it is sent in chunks and without a length. */
  chunked?: boolean
  /** False: on a connection of its own. */
  keepalive?: boolean
}

const toBytes = (body: unknown): Uint8Array | undefined => {
  if (body === undefined || body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

const request = async (server: Server, method: string, path: string, options: RequestOptions): Promise<ApiResponse> => {
  const headers = new Headers(options.headers)
  if (options.key !== undefined) headers.set('authorization', `Bearer ${options.key}`)
  const bytes = toBytes(options.body)
  if (bytes !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json')
  const body = options.chunked === true && bytes !== undefined ? chunksOf(bytes) : bytes
  const response = await fetch(server.url + path, {
    method,
    headers,
    body: body as ReadableStream | Uint8Array<ArrayBuffer>,
    redirect: 'manual',
    keepalive: options.keepalive,
  })
  const text = await response.text()
  return checkResponse({ status: response.status, headers: response.headers, text, body: tryJson(text) }, options.key)
}

const chunksOf = (bytes: Uint8Array): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + 65_536))
      at += 65_536
    },
  })
}

/** Checks on every answer that a test gets what must hold for all of them. */
export const checkResponse = (answer: ApiResponse, key?: string): ApiResponse => {
  const fail = (promise: string): never => {
    const shown = JSON.stringify(Object.fromEntries(answer.headers as unknown as Iterable<[string, string]>))
    throw new Error(`${promise}; got ${answer.status} ${shown} ${answer.text.slice(0, 500)}`)
  }
  const id = answer.headers.get('x-request-id') ?? ''
  if (!/^[\x21-\x7e]{1,128}$/.test(id)) fail('every answer carries x-request-id')
  if (answer.headers.get('access-control-allow-origin') !== '*') fail('every answer allows every origin')
  const exposed = (answer.headers.get('access-control-expose-headers') ?? '').toLowerCase().split(/\s*,\s*/)
  for (const name of ['etag', 'retry-after', 'x-request-id']) {
    if (!exposed.includes(name)) fail(`every answer exposes ${name}`)
  }
  if (answer.headers.get('x-content-type-options') !== 'nosniff') fail('every answer carries nosniff')
  if (key !== undefined && answer.status !== 204 && answer.headers.get('vary') !== 'Authorization') {
    fail('answers to requests with a key vary with Authorization')
  }
  if (key !== undefined && answer.headers.get('cache-control') !== 'private, no-cache') {
    fail('an answer to a request with a key carries Cache-Control: private, no-cache')
  }
  if (answer.text !== '' && !answer.headers.get('content-type')?.startsWith('application/json')) fail('a body is JSON')
  if (answer.status >= 400 && answer.text !== '') {
    const error = answer.body?.error
    const shaped =
      typeof error?.code === 'string' &&
      typeof error.message === 'string' &&
      error.message !== '' &&
      error.requestId === id &&
      ['undefined', 'string'].includes(typeof error.field) &&
      ['undefined', 'string'].includes(typeof error.hint) &&
      Object.keys(answer.body).length === 1
    if (!shaped) fail('an error body is { error: { code, message, requestId, field?, hint? } }')
    if (answer.status === 401 && !answer.headers.get('www-authenticate')?.startsWith('Bearer')) {
      fail('a 401 carries WWW-Authenticate: Bearer')
    }
    if (answer.status === 405 && !answer.headers.get('allow')) fail('a 405 carries Allow')
    if (answer.status === 503 && !answer.headers.get('retry-after')) fail('a 503 carries Retry-After')
  }
  return answer
}

/** A caller with a key. */
export class Api {
  readonly server: Server
  readonly key: string

  readonly #keepalive: boolean

  constructor(server: Server, key: string, keepalive = true) {
    this.server = server
    this.key = key
    this.#keepalive = keepalive
  }

  /**
   * The same caller, whose requests are sent once: `fetch` itself repeats a PUT or DELETE if the connection breaks and was used before.
   * If another process of the same port takes the second one, the first may have been applied too.
   */
  get once(): Api {
    return new Api(this.server, this.key, false)
  }

  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse> {
    return request(this.server, method, path, { key: this.key, body, headers, keepalive: this.#keepalive })
  }

  get(path: string, headers?: Record<string, string>): Promise<ApiResponse> {
    return this.request('GET', path, undefined, headers)
  }

  put(path: string, body: unknown, headers?: Record<string, string>): Promise<ApiResponse> {
    return this.request('PUT', path, body, headers)
  }

  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse> {
    return this.request('POST', path, body, headers)
  }

  delete(path: string, headers?: Record<string, string>): Promise<ApiResponse> {
    return this.request('DELETE', path, undefined, headers)
  }

  raw(method: string, target: string | Uint8Array, options: RawOptions = {}): Promise<ApiResponse> {
    return this.server.raw(method, target, { key: this.key, ...options })
  }
}

// ── Waiting ────────────────────────────────────────────────────────────────────────────────────────────────

/** Calls `probe` until it returns something; fails after `waitMsMax`, which only a fault should need. */
export const eventually = async <T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  { waitMsMax = 60_000, pauseMs = 25 } = {},
): Promise<T> => {
  const deadline = Date.now() + waitMsMax
  for (;;) {
    const found = await probe()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`did not come within ${waitMsMax} ms: ${what}`)
    await Bun.sleep(pauseMs)
  }
}
