import { checkName } from '../records/record-key.ts'
import { Pages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  ActiveTable,
  CreateTableRequest,
  DeletedTable,
  ListTablesResponse,
  RestoreTableRequest,
  TableMetadata,
} from '../transport/wire.ts'

export interface ListOptions extends RequestOptions {
  /** Items of a page: 100, at most 1,000. */
  limit?: number
  cursor?: string | null
}

/** `path?limit=…`, without the parameters that have no value. */
export const listPath = (path: string, parameters: Record<string, string | number | boolean | null | undefined>) => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value != null) search.set(name, String(value))
  return `${path}?${search}`.replace(/\?$/, '')
}

/** The tables of one database. */
export class Tables {
  readonly #send: Send
  readonly #path: string

  /** Made by `db('app').tables`. */
  constructor(send: Send, path: string) {
    this.#send = send
    this.#path = path
  }

  #table(name: string): string {
    return `${this.#path}/${checkName(name, 'table')}`
  }

  /** Again with the same indices: the table as it is. With others: `table_exists`, since indices are immutable. */
  async create(name: string, table?: CreateTableRequest, options?: RequestOptions): Promise<ActiveTable> {
    const body = table && JSON.stringify(table)
    return this.#send({ method: 'POST', path: this.#table(name), effect: 'write', body }, options)
  }

  async describe(name: string, options?: RequestOptions): Promise<ActiveTable> {
    return this.#send({ method: 'GET', path: this.#table(name), effect: 'read' }, options)
  }

  /** By name. `deleted: true` lists the dropped ones that can still be restored. */
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

  /** Takes the table away; its records can be restored for 7 days. */
  async drop(name: string, options?: RequestOptions): Promise<DeletedTable> {
    return this.#send({ method: 'DELETE', path: this.#table(name), effect: 'write' }, options)
  }

  /** Brings back the table dropped last, or the one dropped at `deletedAt`. */
  async restore(name: string, table?: RestoreTableRequest, options?: RequestOptions): Promise<ActiveTable> {
    const body = table && JSON.stringify(table)
    return this.#send({ method: 'POST', path: `${this.#table(name)}/restore`, effect: 'write', body }, options)
  }
}
