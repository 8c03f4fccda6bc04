import { CubbyError } from '../../core/errors.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { type Indices, parseIndices } from '../../core/tables/indices.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, callerOf, parseAddress, type TableAddress } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { tableJson } from './present-table.ts'

export interface CreateTableInput extends TableAddress {
  indices: Indices
}

export const parseCreateTable = (members: Members): Indices => {
  refuseUnknownMembers(members, ['indices'])
  return parseIndices(members.indices)
}

/** Creating an existing table with the same indices is not an error. */
export const createTable = async (
  access: Access,
  { db, table: name, indices }: CreateTableInput,
  nowMs: number,
): Promise<{ table: Table; created: boolean }> => {
  const result = await access.engine.tables.create(callerOf(access), db, name, indices, nowMs)
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
  description:
    'A table may declare up to five indices, in the slots `i1` to `i5`. Indices are sparse: a record without the indexed fields is stored but is not in the index. Every table also has the index `t`, by `updatedAt`, which is not declared.',
  keyNeeded: 'write',
  effect: 'writes',
  returns: 'The table.',
  codes: ['invalid_index', 'table_exists'],
  parse(text): CreateTableInput {
    const { db, table, ...declaration } = parsePlainBody(text)
    return { ...parseAddress(db, table), indices: parseCreateTable(declaration) }
  },
  run: createTable,
  present: ({ table }) => tableJson(table),
})
