import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, parseAddressAlone, type TableAddress, tableNotFound } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { tableJson } from './present-table.ts'

export const deleteTable = async (access: Access, address: TableAddress, nowMs: number): Promise<Table> => {
  const table = await access.engine.tables.delete(callerOf(access), address.db, address.table, nowMs)
  if (table === undefined) throw await tableNotFound(access, address, nowMs)
  return table
}

export const deleteTableOperation = defineOperation({
  id: 'deleteTable',
  area: 'tables',
  summary: 'Delete a table; it can be restored for 7 days',
  description:
    'Once the answer is sent, the table can only be restored, and its name is free. It can be restored for 7 days, with all its records; after that they are removed permanently.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'The deleted table.',
  codes: ['table_not_found'],
  parse: parseAddressAlone,
  run: deleteTable,
  present: tableJson,
})
