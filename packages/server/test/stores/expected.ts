import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Answer, makeTempDir, removeTempDir, Server } from '../harness.ts'

// The store of a version with all that it answers, in `expected.json` beside it.

export const dayMs = 24 * 60 * 60 * 1000

export interface ReplayedRequest {
  /** Which of the store's keys asks. */
  key: string
  method: string
  path: string
  /** JSON text. */
  body?: string
}

export interface Expected {
  /** What the clock showed when the store was written. */
  writtenAtMs: number
  /** The text of every API key, by what it is. */
  keys: Record<string, string>
  answers: (ReplayedRequest & ExpectedAnswer)[]
}

interface ExpectedAnswer {
  status: number
  /** Byte for byte; of an error, only its code. */
  text?: string
  code?: string
  /** Where the answer had a cursor: the answer to the same request with it. */
  next?: ExpectedAnswer
}

/** Starts a server on a copy of the store, its clock this long after the writing. */
export const openCopy = async (from: string, { writtenAtMs }: Expected, laterMs: number): Promise<Server> => {
  const top = makeTempDir()
  const dataDir = join(top, 'data')
  mkdirSync(dataDir)
  copyFileSync(join(from, 'cubby.db'), join(dataDir, 'cubby.db'))
  const server = new CopyServer({ dataDir, clock: true }, top)
  server.setClock(writtenAtMs + laterMs - Date.now())
  await server.start()
  return server
}

class CopyServer extends Server {
  private readonly top: string

  constructor(options: ConstructorParameters<typeof Server>[0], top: string) {
    super(options)
    this.top = top
  }

  override remove(): void {
    super.remove()
    removeTempDir(this.top)
  }
}

/** Asks, and gives the answer in the form in which it is kept. */
export const replay = async (server: Server, { keys }: Expected, request: ReplayedRequest): Promise<ExpectedAnswer> => {
  const { key, method, path, body } = request
  const answer = await server.as(keys[key]!).request(method, path, body)
  const kept = keep(answer)
  const cursor = answer.body?.cursor
  if (typeof cursor !== 'string') return kept
  const onward =
    body === undefined
      ? { path: `${path}&cursor=${cursor}` }
      : { body: JSON.stringify({ ...JSON.parse(body), cursor }) }
  return { ...kept, next: keep(await server.as(keys[key]!).request(method, onward.path ?? path, onward.body)) }
}

const keep = ({ status, text, body }: Answer): ExpectedAnswer => {
  if (status >= 400) return { status, code: body.error.code }
  // When a key was last used depends on who asked before.
  if (body.keys !== undefined) return { status, text: text.replaceAll(/"lastUsedAt":\d+/g, '"lastUsedAt":null') }
  return { status, text }
}
