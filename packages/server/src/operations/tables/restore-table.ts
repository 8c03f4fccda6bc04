import { call } from '../../core/hint.ts'
import { deleteOrders, inOrders, orders, tableDeletedAt } from '../example.ts'
import { readDeletedAt, restoreNamed } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { tableJson } from './present-table.ts'
import { addressMembers, addressRequired, tableSchemas } from './schemas.ts'

export const restoreTableOperation = defineOperation({
  id: 'restoreTable',
  area: 'tables',
  summary: 'Restore a deleted table with all its records',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/:table/restore', body: { schema: 'RestoreTableRequest' } },
  command: 'table restore {table} --db {db} [--deleted-at {deletedAt}]',
  tool: 'restore_table',
  read: readDeletedAt('table'),
  run: restoreNamed('table'),
  present: tableJson,
  describe: () => ({
    title: 'Restore a table',
    description:
      'Makes a deleted table active again, with all its records and indices: the one deleted last, or another one by its `deletedAt`. If the table is active and no table with that name is deleted, nothing changes.',
    returns: 'The active table.',
    codes: ['table_not_found', 'table_exists'],
    input: inputOf(tableSchemas.RestoreTableRequest, addressMembers, addressRequired),
    output: ref('ActiveTable'),
    client: { on: 'tables', method: 'restore', result: 'table' },
    examples: [
      { name: 'newest', summary: 'The table deleted last', given: [deleteOrders], input: inOrders, output: orders },
      {
        name: 'byTime',
        summary: 'The table deleted at this time',
        given: [deleteOrders],
        input: { ...inOrders, deletedAt: tableDeletedAt },
        output: orders,
      },
      {
        name: 'nameTaken',
        summary: 'The name is taken by a new table',
        given: [deleteOrders, { operation: 'createTable', input: inOrders }],
        input: inOrders,
        error: {
          code: 'table_exists',
          message: 'An active table has the name orders.',
          hint: [
            'Delete it first (',
            call('deleteTable', inOrders),
            '), then restore with ',
            { send: { deletedAt: tableDeletedAt } },
            '.',
          ],
        },
      },
      {
        name: 'noSuchDeletion',
        summary: 'No table was deleted at this time',
        given: [deleteOrders],
        input: { ...inOrders, deletedAt: 1 },
        error: {
          code: 'table_not_found',
          message: 'No recoverable table orders was deleted at 1.',
          field: 'deletedAt',
          hint: ['See ', call('listTables', { db: 'app', deleted: true }), ', or leave deletedAt out for the newest.'],
        },
      },
    ],
  }),
})
