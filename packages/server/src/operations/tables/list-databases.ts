import { decodeListCursor, encodeListCursor } from '../../core/cursor.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import type { Access } from '../access.ts'
import { type ListingInput, pagesNote, parseListing } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { listingMembers } from './schemas.ts'

interface DatabasePage {
  databases: string[]
  cursor: string | null
}

export const listDatabases = async (
  access: Access,
  { limit, cursor }: ListingInput,
  nowMs: number,
): Promise<DatabasePage> => {
  const { engine, apiKey } = access
  const { seal } = await engine.secrets.at(nowMs)
  const after =
    cursor === undefined ? undefined : (decodeListCursor(seal, cursor, 'databases', ['string'])[0] as string)
  let found: string[]
  if (apiKey.databases === null) found = await engine.tables.listDatabases(apiKey.orgId, after, limit + 1)
  else {
    // A limited key sees only its own databases that have something in them: at most three hundred lookups.
    found = []
    for (const db of [...apiKey.databases].sort()) {
      if (after !== undefined && db <= after) continue
      const first = { orgId: apiKey.orgId, db, after: undefined, limit: 1 }
      for (const area of [engine.tables, engine.buckets, engine.tasks]) {
        if ((await area.list(first)).length === 0) continue
        found.push(db)
        break
      }
    }
  }
  const databases = found.slice(0, limit)
  return { databases, cursor: found.length > limit ? encodeListCursor(seal, 'databases', [databases.at(-1)!]) : null }
}

export const listDatabasesOperation = defineOperation({
  id: 'listDatabases',
  area: 'tables',
  summary: 'List databases',
  keyNeeded: 'read',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/v1', query: ['limit', 'cursor'] },
  command: 'db list',
  tool: 'list_tables',
  read({ members }) {
    refuseUnknownMembers(members, ['limit', 'cursor'])
    return parseListing(members)
  },
  run: listDatabases,
  present: (page) => JSON.stringify(page),
  describe: () => ({
    description: `The databases that the API key may use and that have a table, a bucket or a task, by name. ${pagesNote}`,
    returns: 'A page of names.',
    codes: ['invalid_cursor'],
    input: inputOf({}, listingMembers),
    output: ref('DatabaseList'),
    client: { on: 'cubby', method: 'databases', result: 'page' },
    examples: [
      { name: 'all', summary: 'All databases', input: {}, output: { databases: ['app'], cursor: null } },
      {
        name: 'onePage',
        summary: 'The first of several pages',
        given: [{ operation: 'createTable', input: { db: 'blog', table: 'posts' } }],
        input: { limit: 1 },
        output: { databases: ['app'], cursor: 'AjnWL1ysTG7OgIijV-gOTYoW9kLfm3-R7-mIQd-E7J95o744' },
      },
    ],
  }),
})
