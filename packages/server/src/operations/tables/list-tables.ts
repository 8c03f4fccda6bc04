import type { Access } from '../access.ts'
import { pagesNote } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { type ListOfDatabaseInput, listOfDatabase, type Page, parseListOfDatabase } from './lifecycle.ts'
import { presentTable } from './present-table.ts'

export const listTables = ({ engine, apiKey }: Access, input: ListOfDatabaseInput, nowMs: number): Promise<Page> =>
  listOfDatabase(engine.tables, engine.secrets, apiKey.orgId, input.deleted ? 'deleted' : 'tables', input, nowMs)

export const listTablesOperation = defineOperation({
  id: 'listTables',
  area: 'tables',
  summary: 'List the tables of a database',
  description: `The tables of a database, by name. For a database without tables the list is empty. ${pagesNote}`,
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'A page of tables.',
  codes: ['invalid_cursor'],
  parse: parseListOfDatabase,
  run: listTables,
  present: ({ rows, cursor }) => JSON.stringify({ tables: rows.map(presentTable), cursor }),
})
