import { decodeListCursor, encodeListCursor } from '../../core/cursor.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import { type Access, callerOf, type OperatorAccess } from '../access.ts'
import { type ListingInput, pagesNote, parseListing } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { listingMembers } from '../tables/schemas.ts'
import { createWeb, listedWeb } from './examples.ts'
import { presentApiKey } from './present-api-key.ts'

interface ApiKeyPage {
  keys: ApiKey[]
  cursor: string | null
}

export const listApiKeys = async (
  access: Access | OperatorAccess,
  { limit, cursor }: ListingInput,
  nowMs: number,
): Promise<ApiKeyPage> => {
  const { seal } = await access.engine.secrets.at(nowMs)
  const before = cursor === undefined ? undefined : (decodeListCursor(seal, cursor, 'keys', ['number'])[0] as number)
  const found = await access.engine.apiKeys.list(callerOf(access).orgId, before, limit + 1)
  const keys = found.slice(0, limit)
  return { keys, cursor: found.length > limit ? encodeListCursor(seal, 'keys', [keys.at(-1)!.seq]) : null }
}

export const listApiKeysOperation = defineOperation({
  id: 'listApiKeys',
  area: 'api-keys',
  summary: 'List the API keys of an organization',
  keyNeeded: 'manage-keys',
  grants: 'none',
  effect: 'reads',
  route: { method: 'GET', path: '/api/keys', query: ['limit', 'cursor'] },
  command: 'keys list --org {org}',
  read({ members }) {
    refuseUnknownMembers(members, ['limit', 'cursor'])
    return parseListing(members)
  },
  run: listApiKeys,
  present: ({ keys, cursor }, nowMs) => JSON.stringify({ keys: keys.map((key) => presentApiKey(key, nowMs)), cursor }),
  describe: () => ({
    title: 'List API keys',
    description: `The API keys of the organization, masked, newest first. ${pagesNote}`,
    returns: 'A page of keys.',
    codes: ['invalid_cursor'],
    input: inputOf({}, listingMembers),
    output: ref('KeyList'),
    client: { on: 'keys', method: 'list', result: 'page' },
    examples: [
      {
        name: 'newest',
        summary: 'The newest key',
        given: [createWeb],
        input: { limit: 1 },
        output: { keys: [listedWeb], cursor: 'AvIZPzwhifvURWu_-hqaGnMF2yENEwNSnxEh1SLlm6WyPPgqo83KTT046MtH' },
      },
    ],
  }),
})
