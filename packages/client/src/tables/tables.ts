import { type ListOptions, listPath, Pages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  ActiveTable,
  CreateTableRequest,
  DeletedTable,
  ListTablesResponse,
  RestoreTableRequest,
  TableMetadata,
} from '../transport/wire.ts'
import { checkName } from './name.ts'

/** The tables of one database. */
export class Tables {
  /** @internal */
  static readonly name: string = 'Tables'
  readonly #send: Send
  readonly #path: string

  /** Use `db('app').tables` instead. */
  constructor(send: Send, path: string) {
    this.#send = send
    this.#path = path
  }

  #table(name: string): string {
    return `${this.#path}/${checkName(name, 'table')}`
  }

  /** If the table exists with the same indices, returns it. With other indices: `table_exists`; indices are immutable. */
  async create(name: string, table?: CreateTableRequest, options?: RequestOptions): Promise<ActiveTable> {
    const body = table && JSON.stringify(table)
    return this.#send({ method: 'POST', path: this.#table(name), effect: 'write', body }, options)
  }

  async describe(name: string, options?: RequestOptions): Promise<ActiveTable> {
    return this.#send({ method: 'GET', path: this.#table(name), effect: 'read' }, options)
  }

  /** Sorted by name. `deleted: true` lists the dropped tables that can still be restored. */
  list(options: ListOptions & { deleted: true }): Pages<ListTablesResponse<DeletedTable>, DeletedTable>
  list(options?: ListOptions & { deleted?: false }): Pages<ListTablesResponse<ActiveTable>, ActiveTable>
  list(
    options: ListOptions & { deleted?: boolean } = {},
  ): Pages<ListTablesResponse<DeletedTable>, DeletedTable> | Pages<ListTablesResponse<ActiveTable>, ActiveTable> {
    return options.deleted ? this.#list<DeletedTable>(options, true) : this.#list<ActiveTable>(options)
  }

  #list<T extends TableMetadata>(options: ListOptions, deleted?: true): Pages<ListTablesResponse<T>, T> {
    const { limit } = options
    return new Pages(
      (cursor = options.cursor) => {
        const path = listPath(this.#path, { limit, cursor, deleted })
        return this.#send<ListTablesResponse<T>>({ method: 'GET', path, effect: 'read' }, options)
      },
      (page) => page.tables,
    )
  }

  /** Soft-deletes the table. `restore` brings it back, with its records, for 7 days. */
  async drop(name: string, options?: RequestOptions): Promise<DeletedTable> {
    return this.#send({ method: 'DELETE', path: this.#table(name), effect: 'write' }, options)
  }

  /** Restores the table of this name that was dropped last, or the one dropped at `deletedAt`. */
  async restore(name: string, table?: RestoreTableRequest, options?: RequestOptions): Promise<ActiveTable> {
    const body = table && JSON.stringify(table)
    return this.#send({ method: 'POST', path: `${this.#table(name)}/restore`, effect: 'write', body }, options)
  }
}
