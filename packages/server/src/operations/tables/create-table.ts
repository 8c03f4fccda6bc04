import { parseNewChanges } from '../../core/changes/keep-hours.ts'
import { CubbyError } from '../../core/errors.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { type Indices, parseIndices } from '../../core/tables/indices.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, type TableAddress } from '../access.ts'
import { indices, inOrders, laterAt, orders } from '../example.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { tableJson } from './present-table.ts'
import { addressMembers, addressRequired, tableSchemas } from './schemas.ts'

interface CreateTableInput extends TableAddress {
  indices: Indices
  /** Absent: it keeps no changes. */
  keepHours?: number
}

/** Creating an existing table with the same indices is not an error. */
const createTable = async (
  access: Access,
  { db, table: name, indices, keepHours }: CreateTableInput,
  nowMs: number,
): Promise<{ table: Table; created: boolean }> => {
  const result = await access.engine.tables.create(callerOf(access), db, name, indices, nowMs, keepHours)
  if (!result.created && JSON.stringify(result.table.indices) !== JSON.stringify(indices)) {
    throw new CubbyError('table_exists', `The table ${name} exists with other indices, and indices are immutable.`, {
      field: 'indices',
      hint: `It declares ${JSON.stringify(result.table.indices)}. Use those, or create a table with another name.`,
    })
  }
  return result
}

export const createTableOperation = defineOperation({
  id: 'createTable',
  area: 'tables',
  summary: 'Create a table and declare its indices',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'writes',
  route: { method: 'POST', path: '/v1/:db/:table', body: { schema: 'CreateTableRequest' } },
  command: 'table create {table} --db {db}',
  tool: 'create_table',
  read({ members }) {
    refuseUnknownMembers(members, ['indices', 'changes'])
    return { indices: parseIndices(members.indices), keepHours: parseNewChanges(members.changes) }
  },
  run: createTable,
  present: ({ table }) => tableJson(table),
  describe: () => ({
    title: 'Create a table',
    description:
      'A table may declare up to five indices, in the slots `i1` to `i5`. Indices are sparse: a record without the indexed fields is stored but is not in the index. Every table also has the index `t`, by `updatedAt`, which is not declared.',
    returns: 'The table.',
    codes: ['invalid_index', 'table_exists'],
    responses: { existing: 'The table already exists with the same indices.', created: 'Created.' },
    input: inputOf(tableSchemas.CreateTableRequest, addressMembers, addressRequired),
    output: ref('ActiveTable'),
    client: { on: 'tables', method: 'create', result: 'table' },
    examples: [
      {
        name: 'plain',
        summary: 'A table without indices',
        input: { db: 'app', table: 'customers' },
        output: { db: 'app', table: 'customers', indices: {}, status: 'active', createdAt: laterAt },
      },
      {
        name: 'withIndices',
        summary: 'A table with two indices',
        input: {
          ...inOrders,
          table: 'invoices',
          indices: { i1: { hashField: 'status', rangeField: 'dueAt' }, i2: { hashField: 'customer' } },
        },
        output: {
          db: 'app',
          table: 'invoices',
          indices: { i1: { hashField: 'status', rangeField: 'dueAt' }, i2: { hashField: 'customer' } },
          status: 'active',
          createdAt: laterAt,
        },
      },
      {
        name: 'again',
        summary: 'A table that already exists',
        input: { ...inOrders, indices },
        output: orders,
        unchanged: true,
      },
      {
        name: 'otherIndices',
        summary: 'A table that already exists with other indices',
        input: { ...inOrders, indices: { i1: { hashField: 'customer' } } },
        error: {
          code: 'table_exists',
          message: 'The table orders exists with other indices, and indices are immutable.',
          field: 'indices',
          hint: `It declares ${JSON.stringify(indices)}. Use those, or create a table with another name.`,
        },
      },
      {
        name: 'noSuchSlot',
        summary: 'An unknown slot',
        input: { db: 'app', table: 'customers', indices: { email: { hashField: 'email' } } },
        error: {
          code: 'invalid_index',
          message: 'indices.email is not a slot.',
          field: 'indices.email',
          hint: 'Slots are i1, i2, i3, i4 and i5; write it as "i1".',
        },
      },
    ],
  }),
})
