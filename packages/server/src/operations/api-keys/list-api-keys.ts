import { decodeListCursor, encodeListCursor } from '../../core/cursor.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import { type Access, callerOf, type OperatorAccess } from '../access.ts'
import { type ListingInput, pagesNote, parseListing } from '../listing.ts'
import { defineOperation } from '../operation.ts'
import { presentApiKey } from './present-api-key.ts'

export interface ApiKeyPage {
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
  description: `The API keys of the organization, masked, newest first. ${pagesNote}`,
  keyNeeded: 'manage-keys',
  effect: 'reads',
  returns: 'A page of keys.',
  codes: ['invalid_cursor'],
  parse(text): ListingInput {
    const members = parsePlainBody(text)
    refuseUnknownMembers(members, ['limit', 'cursor'])
    return parseListing(members)
  },
  run: listApiKeys,
  present: ({ keys, cursor }, nowMs) => JSON.stringify({ keys: keys.map((key) => presentApiKey(key, nowMs)), cursor }),
})
