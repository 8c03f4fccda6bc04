import { Keys } from './api-keys/keys.ts'
import { checkName } from './records/record-key.ts'
import { Table } from './records/table.ts'
import { type ListOptions, listPath, Tables } from './tables/tables.ts'
import { Pages } from './transport/pages.ts'
import { type CubbyOptions, createSend, type Send } from './transport/transport.ts'
import type { Indices, ListDatabasesResponse } from './transport/wire.ts'

export class Database {
  readonly #send: Send
  readonly #path: string
  readonly tables: Tables

  /** Made by `new Cubby(…).db('app')`. */
  constructor(send: Send, name: string) {
    this.#send = send
    this.#path = `/v1/${checkName(name, 'db')}`
    this.tables = new Tables(send, this.#path)
  }

  /**
   * The records of a table; nothing is sent. `Data` is the shape of their data, `I` the declared indices: with
   * `typeof indices` a query on a slot that is not among them does not compile.
   */
  table<Data extends object = Record<string, unknown>, I extends Indices = Indices>(name: string): Table<Data, I> {
    return new Table(this.#send, `${this.#path}/${checkName(name, 'table')}`)
  }
}

export class Cubby {
  readonly #send: Send
  readonly keys: Keys

  constructor(options: CubbyOptions) {
    this.#send = createSend(options)
    this.keys = new Keys(this.#send)
  }

  db(name: string): Database {
    return new Database(this.#send, name)
  }

  /** The names of the databases that the key may see. */
  databases(options: ListOptions = {}): Pages<ListDatabasesResponse, string> {
    return new Pages(
      (cursor = options.cursor) =>
        this.#send({ method: 'GET', path: listPath('/v1', { limit: options.limit, cursor }), effect: 'read' }, options),
      (page) => page.databases,
    )
  }
}
