import pg from 'pg'
import type { StoreUrl } from './store-url.ts'

// The one file that knows the driver, `pg`. What the rest of the engine sees is a session: prepared statements
// go out together, with one Sync behind the last of them, and come back as rows of text.
//
// Everything between two Syncs is one transaction to PostgreSQL, so a pipeline of statements is applied whole or
// not at all, in one round trip, without BEGIN and COMMIT. `pg` would describe every statement anew and build
// an object for every column; here the columns are known, which saves a fifth of the client's time.

/** Prepared on a connection at its first use there. The name stands for the text for ever. */
export interface Statement {
  name: string
  text: string
}

/** Bytes go out as they are (BYTEA), all else as text. */
export type Value = string | number | Buffer | null

export interface Step {
  statement: Statement
  values: Value[]
}

export type Row = (string | null)[]

export interface StepResult {
  rows: Row[]
  /** Rows written, by the command's own count. */
  count: number
}

/** Why a pipeline failed. */
export class PipelineFailure extends Error {
  override readonly name = 'PipelineFailure'
  /** The server's own word for it; undefined when the connection broke without one. */
  readonly sqlState: string | undefined
  /** Whether anything left this process. */
  readonly sent: boolean
  /** Whether every statement had been executed, so that only the commit was outstanding. */
  readonly executed: boolean

  constructor(message: string, about: { sqlState?: string; sent: boolean; executed: boolean }) {
    super(message)
    this.sqlState = about.sqlState
    this.sent = about.sent
    this.executed = about.executed
  }
}

/** As much of pg's connection as is used here. */
interface Wire {
  stream: { cork?(): void; uncork?(): void; destroy(): void }
  parse(message: { name: string; text: string }): void
  bind(message: { statement: string; values: (string | Buffer | null)[] }): void
  execute(message: object): void
  close(message: { type: 'S'; name: string }): void
  sync(): void
}

type Prepared = Map<string, 'ready' | 'unsure'>

const toWire = (value: Value): string | Buffer | null => (typeof value === 'number' ? String(value) : value)

/** One flight of statements; pg calls its methods as answers come in. */
class Pipeline implements pg.Submittable {
  readonly done = Promise.withResolvers<StepResult[]>()
  readonly #steps: Step[]
  readonly #prepared: Prepared
  readonly #results: StepResult[] = []
  #rows: Row[] = []
  #parsed: string[] | undefined
  #sent = false

  constructor(steps: Step[], prepared: Prepared) {
    this.#steps = steps
    this.#prepared = prepared
  }

  submit(connection: unknown): void {
    const wire = connection as Wire
    this.#sent = true
    wire.stream.cork?.()
    try {
      for (const { statement, values } of this.#steps) {
        const state = this.#prepared.get(statement.name)
        if (state !== 'ready') {
          // After a failure it is not known whether the server got as far as preparing it.
          if (state === 'unsure') wire.close({ type: 'S', name: statement.name })
          wire.parse(statement)
          this.#prepared.set(statement.name, 'ready')
          this.#parsed ??= []
          this.#parsed.push(statement.name)
        }
        wire.bind({ statement: statement.name, values: values.map(toWire) })
        wire.execute({})
      }
      wire.sync()
    } finally {
      wire.stream.uncork?.()
    }
  }

  handleDataRow(message: { fields: Row }): void {
    this.#rows.push(message.fields)
  }

  handleCommandComplete(message: { text: string }): void {
    this.#results.push({ rows: this.#rows, count: Number(message.text.slice(message.text.lastIndexOf(' ') + 1)) })
    this.#rows = []
  }

  /** The server is ready for more: what was sent is committed. */
  handleReadyForQuery(): void {
    this.done.resolve(this.#results)
  }

  handleError(error: Error & { code?: string; severity?: string }): void {
    for (const name of this.#parsed ?? []) this.#prepared.set(name, 'unsure')
    // Only what the server itself sent has a severity; anything else is the socket's.
    const sqlState = error.severity === undefined ? undefined : error.code
    const executed = this.#results.length === this.#steps.length
    this.done.reject(new PipelineFailure(error.message, { sqlState, sent: this.#sent, executed }))
  }

  handleRowDescription(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

/** Values as the server wrote them. */
const asText = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig

const goodbyeMsMax = 1_000

export class Session {
  readonly #client: pg.Client
  readonly #prepared: Prepared = new Map()
  #deadline = Number.POSITIVE_INFINITY
  #gone = false
  /** Called once when the connection ends, whoever ended it. */
  onGone: (cause: string) => void = () => {}

  private constructor(client: pg.Client) {
    this.#client = client
    // Without listeners a broken connection would end the process.
    client.on('error', (error) => this.#end(error.message))
    client.on('end', () => this.#end('the connection ended'))
  }

  static async connect(url: StoreUrl, connectMsMax: number): Promise<Session> {
    const client = new pg.Client({
      host: url.host,
      port: url.port,
      user: url.user,
      // As a function: without a password pg would otherwise look into its environment and the home directory.
      password: () => url.password ?? '',
      database: url.database,
      ssl: url.ssl,
      options: url.options,
      application_name: 'cubby',
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
    })
    const session = new Session(client)
    await client.connect()
    return session
  }

  get isGone(): boolean {
    return this.#gone
  }

  /** The statements as one transaction, or as a part of the one that BEGIN opened. */
  send(steps: Step[], msMax: number): Promise<StepResult[]> {
    const pipeline = new Pipeline(steps, this.#prepared)
    this.#deadline = performance.now() + msMax
    this.#client.query(pipeline)
    return pipeline.done.promise
  }

  /** Text without values, several statements if need be: set-up only. */
  async run(sql: string): Promise<Row[]> {
    try {
      const result = await this.#client.query({ text: sql, rowMode: 'array', types: asText })
      return (Array.isArray(result) ? result.at(-1) : result).rows as Row[]
    } catch (error) {
      const { message, code, severity } = error as Error & { code?: string; severity?: string }
      throw new PipelineFailure(message, { sqlState: severity && code, sent: true, executed: false })
    }
  }

  rest(): void {
    this.#deadline = Number.POSITIVE_INFINITY
  }

  /** A server that has stopped answering is found out here; the call that waits for it fails. */
  endIfLate(nowMs: number): void {
    if (nowMs > this.#deadline) this.destroy('the server did not answer in time')
  }

  /** Gone from here on, and not only when the socket says so: nobody is to be given it meanwhile. */
  destroy(cause = 'it was given up'): void {
    ;(this.#client as unknown as { connection: Wire }).connection.stream.destroy()
    this.#end(cause)
  }

  /** Says goodbye, and does not wait long for an answer. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.destroy(), goodbyeMsMax)
    await this.#client.end().catch(() => {})
    clearTimeout(timer)
  }

  #end(cause: string): void {
    if (this.#gone) return
    this.#gone = true
    this.onGone(cause)
  }
}
