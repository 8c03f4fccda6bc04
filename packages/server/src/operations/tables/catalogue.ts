import { entry } from '../catalogue-entry.ts'
import { inputOf, ref } from '../schema.ts'
import { createTableOperation } from './create-table.ts'
import { deleteTableOperation } from './delete-table.ts'
import { describeTableOperation } from './describe-table.ts'
import * as examples from './examples.ts'
import { listDatabasesOperation } from './list-databases.ts'
import { listTablesOperation } from './list-tables.ts'
import { restoreTableOperation } from './restore-table.ts'
import { addressMembers, addressRequired, dbMember, listingMembers, tableSchemas } from './schemas.ts'

const address = inputOf({}, addressMembers, addressRequired)

export const tableCatalogue = {
  listDatabases: entry(listDatabasesOperation, {
    input: inputOf({}, listingMembers),
    output: ref('DatabaseList'),
    examples: examples.listDatabases,
  }),
  listTables: entry(listTablesOperation, {
    input: inputOf(
      {},
      {
        ...dbMember,
        ...listingMembers,
        deleted: {
          type: 'boolean',
          default: false,
          description: 'True: list the deleted tables that can still be restored, by name, then `deletedAt`.',
        },
      },
      ['db'],
    ),
    output: ref('TableList'),
    examples: examples.listTables,
  }),
  createTable: entry(createTableOperation, {
    input: inputOf(tableSchemas.CreateTableRequest, addressMembers, addressRequired),
    output: ref('ActiveTable'),
    examples: examples.createTable,
  }),
  describeTable: entry(describeTableOperation, {
    input: address,
    output: ref('ActiveTable'),
    examples: examples.describeTable,
  }),
  deleteTable: entry(deleteTableOperation, {
    input: address,
    output: ref('DeletedTable'),
    examples: examples.deleteTable,
  }),
  restoreTable: entry(restoreTableOperation, {
    input: inputOf(tableSchemas.RestoreTableRequest, addressMembers, addressRequired),
    output: ref('ActiveTable'),
    examples: examples.restoreTable,
  }),
}
