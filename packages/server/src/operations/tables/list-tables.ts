import { deletedOrders, deleteOrders, orders } from '../example.ts'
import { listOfDatabase, readListOfDatabase } from '../lifecycle.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { presentTable } from './present-table.ts'
import { dbMember, listingMembers } from './schemas.ts'

export const listTablesOperation = defineOperation({
  id: 'listTables',
  area: 'tables',
  summary: 'List the tables of a database',
  keyNeeded: 'read',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/v1/:db', query: ['limit', 'cursor', 'deleted'] },
  command: 'table list --db {db} [--deleted {deleted}]',
  tool: 'list_tables',
  read: readListOfDatabase,
  run: listOfDatabase('table'),
  present: ({ rows, cursor }) => JSON.stringify({ tables: rows.map(presentTable), cursor }),
  describe: () => ({
    title: 'List tables',
    description: `The tables of a database, by name. For a database without tables the list is empty. ${pagesNote}`,
    returns: 'A page of tables.',
    codes: ['invalid_cursor'],
    input: inputOf(
      {},
      {
        ...dbMember,
        ...listingMembers,
        deleted: {
          type: 'boolean',
          default: false,
          description: 'True: list the deleted ones that can still be restored, by name, then `deletedAt`.',
        },
      },
      ['db'],
    ),
    output: ref('TableList'),
    client: { on: 'tables', method: 'list', result: 'page' },
    examples: [
      { name: 'all', summary: 'All tables', input: { db: 'app' }, output: { tables: [orders], cursor: null } },
      {
        name: 'deletedOnes',
        summary: 'The deleted tables that can be restored',
        given: [deleteOrders],
        input: { db: 'app', deleted: true },
        output: { tables: [deletedOrders], cursor: null },
      },
    ],
  }),
})
