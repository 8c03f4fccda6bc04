import { call } from '../../core/hint.ts'
import { deleteOrders, inOrders, orders } from '../example.ts'
import { requireTable } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { ref } from '../schema.ts'
import { tableJson } from './present-table.ts'
import { addressAlone } from './schemas.ts'

export const describeTableOperation = defineOperation({
  id: 'describeTable',
  area: 'tables',
  summary: 'Show a table: its indices and when it was created',
  keyNeeded: 'read',
  grants: {
    of: 'table',
    can: 'read',
    needs: ({ db, table }) => ({ of: 'table', db, table, can: 'read' }),
  },
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db/:table' },
  command: 'table describe {table} --db {db}',
  tool: 'describe_table',
  run: requireTable,
  present: tableJson,
  describe: () => ({
    title: 'Show a table',
    description: 'Returns the indices of the table and when it was created.',
    returns: 'The table.',
    codes: ['table_not_found'],
    input: addressAlone,
    output: ref('ActiveTable'),
    client: { on: 'tables', method: 'describe', result: 'table' },
    examples: [
      { name: 'describe', summary: 'A table', input: inOrders, output: orders },
      {
        name: 'deleted',
        summary: 'A table that was deleted',
        given: [deleteOrders],
        input: inOrders,
        error: {
          code: 'table_not_found',
          message: 'The table orders in database app was deleted.',
          hint: [
            'Restore it until 2026-01-09T00:00:00.000Z: ',
            call('restoreTable', inOrders),
            '; or create a new, empty table: ',
            call('createTable', inOrders),
          ],
        },
      },
    ],
  }),
})
