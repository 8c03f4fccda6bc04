import { fileURLToPath } from 'node:url'
import type { Json } from '../api-response.ts'
import { checkResponse, eventually, makeTempDir, removeTempDir } from '../harness.ts'
import { connectRaw, type RawConnection, type RawOptions, rawRequest } from '../raw-connection.ts'

const script = fileURLToPath(new URL('serve-streams.ts', import.meta.url))

/** The process of serve-streams.ts. */
export class StreamServer {
  readonly #dataDir = makeTempDir()
  #child!: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  url = ''
  port = 0
  /** Two organizations, each with two secret keys. */
  keys: string[][] = []
  stderr = ''

  static async start(): Promise<StreamServer> {
    const server = new StreamServer()
    const child = Bun.spawn([process.execPath, script, server.#dataDir], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    server.#child = child
    server.#collect()
    let line = ''
    for await (const part of child.stdout) {
      line += new TextDecoder().decode(part)
      if (line.includes('\n')) break
    }
    if (!line.includes('\n')) throw new Error(`the server ended: ${server.stderr}`)
    Object.assign(server, JSON.parse(line))
    server.port = Number(new URL(server.url).port)
    return server
  }

  async #collect(): Promise<void> {
    for await (const part of this.#child.stderr) this.stderr += new TextDecoder().decode(part)
  }

  get pid(): number {
    return this.#child.pid
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000)
    await this.#child.exited
    clearTimeout(timer)
    removeTempDir(this.#dataDir)
  }

  connect(waitMsMax?: number): Promise<RawConnection> {
    return connectRaw(this.port, waitMsMax)
  }

  request(method: string, path: string, options: RawOptions): Uint8Array {
    return rawRequest(this, method, path, options)
  }

  async fetch(method: string, path: string, key: string, body?: unknown): Promise<{ status: number; body: Json }> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${key}` },
      body: body === undefined ? undefined : typeof body === 'object' ? (body as never) : String(body),
    })
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
    return checkResponse(answer, key)
  }

  async seen(): Promise<{ uploads: number; working: number; bytes: number; faults: string[] }> {
    return (await this.fetch('GET', '/seen', this.keys[1]![1]!)).body as never
  }

  /** Moves the clock that limits are measured with. */
  async moveClock(ms: number): Promise<void> {
    await this.fetch('GET', `/clock/${ms}`, this.keys[1]![1]!)
  }

  /** Resolves when no upload is read. */
  async untilIdle(): Promise<void> {
    await eventually('nothing is in flight', async () => {
      const { uploads } = await this.seen()
      return uploads === 0 || undefined
    })
  }
}
