import { call } from '../../core/hint.ts'
import type { Members } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, parseAddress, type TableAddress, tableNotFound } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { parseDeletedAt, restored } from './lifecycle.ts'
import { tableJson } from './present-table.ts'

export interface RestoreTableInput extends TableAddress {
  /** undefined: the table deleted last. */
  deletedAtMs: number | undefined
}

export const parseRestoreTable = (members: Members): number | undefined =>
  parseDeletedAt(members, 'table', 'listTables')

export const restoreTable = async (access: Access, input: RestoreTableInput, nowMs: number): Promise<Table> => {
  const { db, table, deletedAtMs } = input
  return restored(await access.engine.tables.restore(callerOf(access), db, table, deletedAtMs, nowMs), {
    kind: 'table',
    name: table,
    deletedAtMs,
    calls: { remove: call('deleteTable', { db, table }), list: call('listTables', { db, deleted: true }) },
    notFound: () => tableNotFound(access, input, nowMs),
  })
}

export const restoreTableOperation = defineOperation({
  id: 'restoreTable',
  area: 'tables',
  summary: 'Restore a deleted table with all its records',
  description:
    'Makes a deleted table active again, with all its records and indices: the one deleted last, or another one by its `deletedAt`. If the table is active and no table with that name is deleted, nothing changes.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The active table.',
  codes: ['table_not_found', 'table_exists'],
  parse(text): RestoreTableInput {
    const { db, table, ...which } = parsePlainBody(text)
    return { ...parseAddress(db, table), deletedAtMs: parseRestoreTable(which) }
  },
  run: restoreTable,
  present: tableJson,
})
