import { parseAddressAlone, requireTable } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { tableJson } from './present-table.ts'

export const describeTable = requireTable

export const describeTableOperation = defineOperation({
  id: 'describeTable',
  area: 'tables',
  summary: 'Describe a table',
  description: 'Its indices and when it was made.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The table.',
  codes: ['table_not_found'],
  parse: parseAddressAlone,
  run: describeTable,
  present: tableJson,
})
