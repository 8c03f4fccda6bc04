import { parseAddressAlone, requireTable } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { tableJson } from './present-table.ts'

export const describeTable = requireTable

export const describeTableOperation = defineOperation({
  id: 'describeTable',
  area: 'tables',
  summary: 'Show a table: its indices and when it was created',
  description: 'Returns the indices of the table and when it was created.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The table.',
  codes: ['table_not_found'],
  parse: parseAddressAlone,
  run: describeTable,
  present: tableJson,
})
