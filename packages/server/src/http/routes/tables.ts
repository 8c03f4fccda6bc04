import { plainBodyBytesMax } from '../../core/limits.ts'
import { createTableOperation } from '../../operations/tables/create-table.ts'
import { deleteTableOperation } from '../../operations/tables/delete-table.ts'
import { describeTableOperation } from '../../operations/tables/describe-table.ts'
import { listDatabasesOperation } from '../../operations/tables/list-databases.ts'
import { listTablesOperation } from '../../operations/tables/list-tables.ts'
import { restoreTableOperation } from '../../operations/tables/restore-table.ts'
import type { OperationRoute } from './route.ts'

const optionalBody = (schema: 'CreateTableRequest' | 'RestoreTableRequest') => ({
  schema,
  required: false,
  bytesMax: plainBodyBytesMax,
})

export const tableRoutes = {
  listDatabases: { operation: listDatabasesOperation, method: 'GET', paths: ['/v1'], query: ['limit', 'cursor'] },
  listTables: {
    operation: listTablesOperation,
    method: 'GET',
    paths: ['/v1/:db'],
    query: ['limit', 'cursor', 'deleted'],
  },
  describeTable: { operation: describeTableOperation, method: 'GET', paths: ['/v1/:db/:table'] },
  createTable: {
    operation: createTableOperation,
    method: 'POST',
    paths: ['/v1/:db/:table'],
    body: optionalBody('CreateTableRequest'),
  },
  deleteTable: { operation: deleteTableOperation, method: 'DELETE', paths: ['/v1/:db/:table'] },
  restoreTable: {
    operation: restoreTableOperation,
    method: 'POST',
    paths: ['/v1/:db/:table/restore'],
    body: optionalBody('RestoreTableRequest'),
  },
} satisfies Record<string, OperationRoute>
