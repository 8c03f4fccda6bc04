import { Keys } from './api-keys/api-keys.ts'
import { Bucket } from './files/bucket.ts'
import { Buckets } from './files/buckets.ts'
import { refuseCondition, Table, writeOperation } from './records/table.ts'
import type { DatabaseOperation } from './records/typed-table.ts'
import { checkName } from './tables/collections.ts'
import { Tables } from './tables/tables.ts'
import { isRunChange, writeRunChange } from './tasks/run-change.ts'
import { Task } from './tasks/task.ts'
import { Tasks } from './tasks/tasks.ts'
import { Issuers } from './tokens/issuers.ts'
import { Tokens } from './tokens/tokens.ts'
import { sendBatch } from './transport/batch.ts'
import type { OnceOptions } from './transport/idempotency.ts'
import { listPath } from './transport/list-path.ts'
import { type ListOptions, Pages } from './transport/pages.ts'
import { type CubbyOptions, createSend, type Send } from './transport/transport.ts'
import type { BatchResponse, Indices, ListDatabasesResponse } from './transport/wire.ts'

export class Database {
  /** @internal */
  static readonly name: string = 'Database'
  readonly #send: Send
  readonly #path: string
  readonly tables: Tables
  readonly buckets: Buckets
  readonly tasks: Tasks

  /** Call `new Cubby(…).db('app')` instead. */
  constructor(send: Send, name: string) {
    this.#send = send
    this.#path = `/v1/${checkName(name, 'db')}`
    this.tables = new Tables(send, this.#path)
    this.buckets = new Buckets(send, this.#path)
    this.tasks = new Tasks(send, this.#path)
  }

  /**
   * Gives access to the records of a table. It sends nothing. `Data` is the type of the records' data. `I` is the type
   * of the declared indices: with `typeof indices`, a query on an undeclared slot does not compile.
   */
  table<Data extends object = Record<string, unknown>, I extends Indices = Indices>(name: string): Table<Data, I> {
    return new Table(this.#send, `${this.#path}/${checkName(name, 'table')}`)
  }

  /**
   * Applies 1 to 100 operations on records of tables and runs of tasks of this database, all or none. `check` writes nothing:
   * the record must have that version, or not exist.
   */
  async batch(operations: readonly DatabaseOperation[], options: OnceOptions = {}): Promise<BatchResponse> {
    refuseCondition(options)
    const parts = operations.map((operation, i) =>
      isRunChange(operation) ? writeRunChange(operation) : writeOperation(operation, `operations[${i}].`),
    )
    return sendBatch(this.#send, `${this.#path}/_batch`, parts, options)
  }

  /** Gives access to the files of a bucket. It sends nothing. `Metadata` is the type of the files' metadata. */
  bucket<Metadata extends object = Record<string, unknown>>(name: string): Bucket<Metadata> {
    return new Bucket(this.#send, `${this.#path}/_buckets/${checkName(name, 'bucket')}`)
  }

  /**
   * Gives access to the runs of a task. It sends nothing. `Payload` and `Result` are the types of the payloads and results
   * of its runs.
   */
  task<Payload extends object = Record<string, unknown>, Result extends object = Record<string, unknown>>(
    name: string,
  ): Task<Payload, Result> {
    return new Task(this.#send, `${this.#path}/_tasks`, checkName(name, 'task'))
  }
}

export class Cubby {
  /** @internal */
  static readonly name: string = 'Cubby'
  readonly #send: Send
  readonly keys: Keys
  readonly tokens: Tokens
  readonly issuers: Issuers

  constructor(options: CubbyOptions) {
    this.#send = createSend(options)
    this.keys = new Keys(this.#send)
    this.tokens = new Tokens(this.#send)
    this.issuers = new Issuers(this.#send)
  }

  db(name: string): Database {
    return new Database(this.#send, name)
  }

  /** The names of the databases that the API key may read. */
  databases(options: ListOptions = {}): Pages<ListDatabasesResponse, string> {
    return new Pages(
      (cursor = options.cursor) =>
        this.#send({ method: 'GET', path: listPath('/v1', { limit: options.limit, cursor }), effect: 'read' }, options),
      (page) => page.databases,
    )
  }
}
