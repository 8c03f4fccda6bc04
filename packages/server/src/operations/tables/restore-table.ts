import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, parseAddress, type TableAddress, tableNotFound } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { tableJson } from './present-table.ts'

export interface RestoreTableInput extends TableAddress {
  /** undefined: the table deleted last. */
  deletedAtMs: number | undefined
}

export const parseRestoreTable = (members: Members): number | undefined => {
  refuseUnknownMembers(members, ['deletedAt'])
  const { deletedAt } = members
  if (deletedAt === undefined || Number.isSafeInteger(deletedAt)) return deletedAt as number | undefined
  throw new CubbyError('invalid_request', `deletedAt is ${describeValue(deletedAt)}; it takes epoch milliseconds.`, {
    field: 'deletedAt',
    hint: ['Leave it out for the table deleted last, or take it from ', call('listTables', { deleted: true }), '.'],
  })
}

export const restoreTable = async (access: Access, input: RestoreTableInput, nowMs: number): Promise<Table> => {
  const { db, table, deletedAtMs } = input
  const result = await access.engine.tables.restore(callerOf(access), db, table, deletedAtMs, nowMs)
  switch (result.outcome) {
    case 'restored':
    case 'active':
      return result.table
    case 'taken':
      throw new CubbyError('table_exists', `An active table has the name ${table}.`, {
        hint: [
          'Delete it first (',
          call('deleteTable', { db, table }),
          '), then restore with ',
          { send: { deletedAt: result.deletedAtMs } },
          '.',
        ],
      })
    case 'missing':
      if (deletedAtMs === undefined) throw await tableNotFound(access, input, nowMs)
      throw new CubbyError('table_not_found', `No recoverable table ${table} was deleted at ${deletedAtMs}.`, {
        field: 'deletedAt',
        hint: ['See ', call('listTables', { db, deleted: true }), ', or leave deletedAt out for the newest.'],
      })
  }
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
