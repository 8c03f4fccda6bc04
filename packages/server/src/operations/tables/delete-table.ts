import { deletedOrders, inOrders } from '../example.ts'
import { deleteNamed } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { ref } from '../schema.ts'
import { tableJson } from './present-table.ts'
import { addressAlone } from './schemas.ts'

export const deleteTableOperation = defineOperation({
  id: 'deleteTable',
  area: 'tables',
  summary: 'Delete a table; it can be restored for 7 days',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'destroys',
  route: { method: 'DELETE', path: '/v1/:db/:table' },
  command: 'table drop {table} --db {db}',
  tool: 'delete_table',
  run: deleteNamed('table'),
  present: tableJson,
  describe: () => ({
    title: 'Delete a table',
    description:
      'Once the answer is sent, the table can only be restored, and its name is free. It can be restored for 7 days, with all its records; after that they are removed permanently.',
    returns: 'The deleted table.',
    codes: ['table_not_found'],
    input: addressAlone,
    output: ref('DeletedTable'),
    client: { on: 'tables', method: 'drop', result: 'table' },
    examples: [{ name: 'delete', summary: 'Delete a table', input: inOrders, output: deletedOrders }],
  }),
})
