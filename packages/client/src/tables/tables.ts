import type { RequestOptions, Send } from '../transport/transport.ts'
import type { ActiveTable, CreateTableRequest, DeletedTable } from '../transport/wire.ts'
import { Collections } from './collections.ts'

/** The tables of one database. */
export class Tables extends Collections<ActiveTable, DeletedTable, 'tables'> {
  /** @internal */
  static override readonly name: string = 'Tables'

  /** Use `db('app').tables` instead. */
  constructor(send: Send, path: string) {
    super(send, path, 'table')
  }

  /** Creates a table, or returns it if it exists with the same indices. With others: `table_exists`; indices are immutable. */
  async create(name: string, properties?: CreateTableRequest, options?: RequestOptions): Promise<ActiveTable> {
    return this.post(this.pathOf(name), properties, options)
  }

  /**
   * From now on the table keeps each change for `keepHours` (1 to 168) at least, for `table.changes` and `table.watch`. Null ends
   * that and every cursor.
   */
  async keepChanges(name: string, keepHours: number | null, options?: RequestOptions): Promise<ActiveTable> {
    const body = JSON.stringify({ keepHours })
    return this.send({ method: 'PUT', path: `${this.pathOf(name)}/changes`, effect: 'write', body }, options)
  }
}
