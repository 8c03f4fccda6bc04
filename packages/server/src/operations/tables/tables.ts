import { decodeListCursor, encodeListCursor } from '../../core/cursor.ts'
import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { type Members, refuseUnknownMembers } from '../../core/members.ts'
import { type Indices, parseIndices } from '../../core/tables/indices.ts'
import type { Table } from '../../store/tables.ts'
import { type Access, asWriter, type TableAddress, tableNotFound } from '../access.ts'

export const parseCreateTable = (members: Members): Indices => {
  refuseUnknownMembers(members, ['indices'])
  return parseIndices(members.indices)
}

/** Repeating the same declaration is no error: the table is as it was asked for. */
export const createTable = async (
  access: Access,
  address: TableAddress,
  indices: Indices,
  nowMs: number,
): Promise<{ table: Table; created: boolean }> => {
  const { db, table: name } = address
  const result = await access.engine.tables.create(asWriter(access), db, name, indices, nowMs)
  if (!result.created && JSON.stringify(result.table.indices) !== JSON.stringify(indices)) {
    throw new CubbyError('table_exists', `The table ${name} exists with other indices, and indices are immutable.`, {
      field: 'indices',
      hint: `It declares ${JSON.stringify(result.table.indices)}. Use those, or create a table of another name.`,
    })
  }
  return result
}

export const deleteTable = async (access: Access, address: TableAddress, nowMs: number): Promise<Table> => {
  const table = await access.engine.tables.delete(asWriter(access), address.db, address.table, nowMs)
  if (table === undefined) throw await tableNotFound(access, address, nowMs)
  return table
}

export const parseRestoreTable = (members: Members): number | undefined => {
  refuseUnknownMembers(members, ['deletedAt'])
  const { deletedAt } = members
  if (deletedAt === undefined || Number.isSafeInteger(deletedAt)) return deletedAt as number | undefined
  throw new CubbyError('invalid_request', `deletedAt is ${describeValue(deletedAt)}; it takes epoch milliseconds.`, {
    field: 'deletedAt',
    hint: 'Leave it out for the table deleted last, or take it from GET /v1/:db?deleted=true.',
  })
}

export const restoreTable = async (
  access: Access,
  address: TableAddress,
  deletedAtMs: number | undefined,
  nowMs: number,
): Promise<Table> => {
  const { db, table } = address
  const result = await access.engine.tables.restore(asWriter(access), db, table, deletedAtMs, nowMs)
  switch (result.outcome) {
    case 'restored':
    case 'active':
      return result.table
    case 'taken':
      throw new CubbyError('table_exists', `An active table has the name ${table}.`, {
        hint: `Delete it first (DELETE /v1/${db}/${table}), then restore with { "deletedAt": ${result.deletedAtMs} }.`,
      })
    case 'missing':
      if (deletedAtMs === undefined) throw await tableNotFound(access, address, nowMs)
      throw new CubbyError('table_not_found', `No recoverable table ${table} was deleted at ${deletedAtMs}.`, {
        field: 'deletedAt',
        hint: `See GET /v1/${db}?deleted=true, or leave deletedAt out for the newest.`,
      })
  }
}

export interface TablePage {
  tables: Table[]
  cursor: string | null
}

export const listTables = async (
  access: Access,
  db: string,
  options: { deleted: boolean; limit: number; cursor: string | undefined },
  nowMs: number,
): Promise<TablePage> => {
  const { deleted, limit, cursor } = options
  const listing = `${deleted ? 'deleted' : 'tables'}:${db}`
  const place = cursor === undefined ? undefined : decodeListCursor(cursor, listing, ['string', 'number'])
  const after = place && { name: place[0] as string, deletedAtMs: place[1] as number }
  // One more than the page: its presence tells that there is a next one.
  const request = { orgId: access.apiKey.orgId, db, after, limit: limit + 1 }
  const found = await (deleted ? access.engine.tables.listDeleted(request, nowMs) : access.engine.tables.list(request))
  const tables = found.slice(0, limit)
  const last = tables.at(-1)
  return {
    tables,
    cursor: found.length > limit ? encodeListCursor(listing, [last!.name, last!.deletedAtMs ?? 0]) : null,
  }
}

export const listDatabases = async (
  access: Access,
  options: { limit: number; cursor: string | undefined },
): Promise<{ databases: string[]; cursor: string | null }> => {
  const { limit, cursor } = options
  const { engine, apiKey } = access
  const after = cursor === undefined ? undefined : (decodeListCursor(cursor, 'databases', ['string'])[0] as string)
  let found: string[]
  if (apiKey.databases === null) found = await engine.tables.listDatabases(apiKey.orgId, after, limit + 1)
  else {
    // A limited key sees those of its own that exist: at most a hundred looks.
    found = []
    for (const db of [...apiKey.databases].sort()) {
      if (after !== undefined && db <= after) continue
      const [table] = await engine.tables.list({ orgId: apiKey.orgId, db, after: undefined, limit: 1 })
      if (table !== undefined) found.push(db)
    }
  }
  const databases = found.slice(0, limit)
  return { databases, cursor: found.length > limit ? encodeListCursor('databases', [databases.at(-1)!]) : null }
}
