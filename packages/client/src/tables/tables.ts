import type { Send } from '../transport/transport.ts'
import type { ActiveTable, CreateTableRequest, DeletedTable } from '../transport/wire.ts'
import { Collections } from './collections.ts'

/** The tables of one database. */
export class Tables extends Collections<CreateTableRequest, ActiveTable, DeletedTable, 'tables'> {
  /** @internal */
  static override readonly name: string = 'Tables'

  /** Use `db('app').tables` instead. */
  constructor(send: Send, path: string) {
    super(send, path, 'table')
  }
}
