import pg from 'pg'
import type { StoreUrl } from './store-url.ts'

// The only file that knows the driver, `pg`. The rest of the engine sees a session: prepared statements are sent
// together, with one Sync after the last one, and come back as rows of text.
//
// PostgreSQL treats everything between two Syncs as one transaction: a pipeline of statements is applied as a whole or
// not at all, in one round trip, without BEGIN and COMMIT. `pg` would describe every statement again and build an
// object for every row; the columns are known here, which saves a fifth of the client's time.

/** A statement is prepared on a connection at its first use there. A name always belongs to the same text. */
export interface Statement {
  name: string
  text: string
}

/** Bytes are sent in binary (BYTEA), everything else as text. */
export type Value = string | number | Buffer | null

export interface BoundStatement {
  statement: Statement
  values: Value[]
}

export const bind = (statement: Statement, ...values: Value[]): BoundStatement => ({ statement, values })

export type Row = (string | null)[]

export interface StatementResult {
  rows: Row[]
  /** The number of written rows that the command tag reports. */
  count: number
}

/** A pipeline failed. */
export class PipelineFailure extends Error {
  override readonly name = 'PipelineFailure'
  /** The server's SQLSTATE; undefined if the connection broke without one. */
  readonly sqlState: string | undefined
  /** Something left this process. */
  readonly sent: boolean
  /** Every statement was executed: only the commit was pending. */
  readonly executed: boolean
  /** The statement that failed was the last one. */
  readonly atLast: boolean

  constructor(message: string, about: { sqlState?: string; sent: boolean; executed: boolean; atLast?: boolean }) {
    super(message)
    this.sqlState = about.sqlState
    this.sent = about.sent
    this.executed = about.executed
    this.atLast = about.atLast ?? false
  }
}

/** The part of pg's connection that is used here. */
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

/** A query sends statements with one Sync. pg calls the methods as answers arrive. */
class Pipeline implements pg.Submittable {
  readonly done = Promise.withResolvers<StatementResult[]>()
  readonly #bound: BoundStatement[]
  readonly #prepared: Prepared
  readonly #results: StatementResult[] = []
  #rows: Row[] = []
  #parsed: string[] | undefined
  #sent = false

  constructor(bound: BoundStatement[], prepared: Prepared) {
    this.#bound = bound
    this.#prepared = prepared
  }

  submit(connection: unknown): void {
    const wire = connection as Wire
    this.#sent = true
    wire.stream.cork?.()
    try {
      for (const { statement, values } of this.#bound) {
        const state = this.#prepared.get(statement.name)
        if (state !== 'ready') {
          // After a failure it is unknown whether the server has prepared it.
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

  /** The server is ready for the next query: what was sent is committed. */
  handleReadyForQuery(): void {
    this.done.resolve(this.#results)
  }

  handleError(error: Error & { code?: string; severity?: string }): void {
    for (const name of this.#parsed ?? []) this.#prepared.set(name, 'unsure')
    // Only errors that the server sent have a severity. Others come from the socket.
    const sqlState = error.severity === undefined ? undefined : error.code
    const left = this.#bound.length - this.#results.length
    const about = { sqlState, sent: this.#sent, executed: left === 0, atLast: left === 1 }
    this.done.reject(new PipelineFailure(error.message, about))
  }

  handleRowDescription(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

/** The results have the server's own text form. */
const asText = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig

const goodbyeMsMax = 1_000

export class Session {
  readonly #client: pg.Client
  readonly #prepared: Prepared = new Map()
  #deadline = Number.POSITIVE_INFINITY
  #gone = false
  /** This is called once when the connection ends, on whichever side. */
  onGone: (cause: string) => void = () => {}

  private constructor(client: pg.Client) {
    this.#client = client
    // Without listeners, a broken connection would end the process.
    client.on('error', (error) => this.#end(error.message))
    client.on('end', () => this.#end('the connection ended'))
  }

  static async connect(url: StoreUrl, connectMsMax: number): Promise<Session> {
    const client = new pg.Client({
      host: url.host,
      port: url.port,
      user: url.user,
      // A function keeps pg from reading a password from the environment or the home directory if the URL has none.
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

  /** The statements are one transaction, or part of the one that BEGIN opened. */
  send(bound: BoundStatement[], msMax: number): Promise<StatementResult[]> {
    const pipeline = new Pipeline(bound, this.#prepared)
    this.#deadline = performance.now() + msMax
    this.#client.query(pipeline)
    return pipeline.done.promise
  }

  /** Runs one or several statements without values. The set-up and readers of a whole store use it. */
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

  /** Detects a server that has stopped answering. The call that waits for it fails. */
  endIfLate(nowMs: number): void {
    if (nowMs > this.#deadline) this.destroy('the server did not answer in time')
  }

  /** Ends the session at once, not only when the socket closes: nobody else must get it in between. */
  destroy(cause = 'it was given up'): void {
    ;(this.#client as unknown as { connection: Wire }).connection.stream.destroy()
    this.#end(cause)
  }

  /** Ends the connection in order, without waiting long for the server. */
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
