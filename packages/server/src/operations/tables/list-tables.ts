import { decodeListCursor, encodeListCursor } from '../../core/cursor.ts'
import { parseFlag, refuseUnknownMembers } from '../../core/members.ts'
import { parseName } from '../../core/names.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Table } from '../../store/tables.ts'
import type { Access } from '../access.ts'
import { type ListingInput, pagesNote, parseListing } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { presentTable } from './present-table.ts'

export interface ListTablesInput extends ListingInput {
  db: string
  /** List the deleted tables that can still be restored, instead of the active ones. */
  deleted: boolean
}

export interface TablePage {
  tables: Table[]
  cursor: string | null
}

export const listTables = async (access: Access, input: ListTablesInput, nowMs: number): Promise<TablePage> => {
  const { db, deleted, limit, cursor } = input
  const seal = access.engine.cursorSeal
  const listing = `${deleted ? 'deleted' : 'tables'}:${db}`
  const place = cursor === undefined ? undefined : decodeListCursor(seal, cursor, listing, ['string', 'number'])
  const after = place && { name: place[0] as string, deletedAtMs: place[1] as number }
  // One row more than the page: if it is present, there is a next page.
  const request = { orgId: access.apiKey.orgId, db, after, limit: limit + 1 }
  const found = await (deleted ? access.engine.tables.listDeleted(request, nowMs) : access.engine.tables.list(request))
  const tables = found.slice(0, limit)
  const last = tables.at(-1)
  return {
    tables,
    cursor: found.length > limit ? encodeListCursor(seal, listing, [last!.name, last!.deletedAtMs ?? 0]) : null,
  }
}

export const listTablesOperation = defineOperation({
  id: 'listTables',
  area: 'tables',
  summary: 'List the tables of a database',
  description: `The tables of a database, by name. For a database without tables the list is empty. ${pagesNote}`,
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'A page of tables.',
  codes: ['invalid_cursor'],
  parse(text): ListTablesInput {
    const { db, ...members } = parsePlainBody(text)
    refuseUnknownMembers(members, ['limit', 'cursor', 'deleted'])
    return { db: parseName(db, 'db'), deleted: parseFlag(members.deleted, 'deleted'), ...parseListing(members) }
  },
  run: listTables,
  present: ({ tables, cursor }) => JSON.stringify({ tables: tables.map(presentTable), cursor }),
})
