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
  summary: 'Delete a table, recoverably',
  description:
    'From the moment of the answer the table is gone for everything but restore, and its name is free. For 7 days it can be restored with all its records; then they are removed for good.',
  keyNeeded: 'write',
  effect: 'destroys',
  returns: 'The table as it was deleted.',
  codes: ['table_not_found'],
  parse: parseAddressAlone,
  run: deleteTable,
  present: tableJson,
})
