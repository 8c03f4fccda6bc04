import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import type { Access } from '../access.ts'
import { defineOperation } from '../operation.ts'
import { presentOwnApiKey } from './present-api-key.ts'

export interface OwnApiKey {
  apiKey: ApiKey
  /** The name of the key's organization. */
  organization: string
}

export const describeOwnApiKey = async ({ engine, apiKey }: Access): Promise<OwnApiKey> => {
  const { orgId, seq } = apiKey
  // Read as the listing reads it: `apiKey` may be from a cache, and its `lastUsedAt` would lag for longer than a minute.
  const [listed] = await engine.apiKeys.list(orgId, seq + 1, 1)
  const organization = await engine.organizations.findById(orgId)
  return { apiKey: listed!, organization: organization!.name }
}

export const describeOwnApiKeyOperation = defineOperation({
  id: 'describeOwnApiKey',
  area: 'api-keys',
  summary: 'Describe the calling API key',
  description:
    'The API key that the request is sent with: its kind, its limits and its organization. Every key may ask, public and limited ones too.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The key, as in the list of keys, and the name of its organization.',
  codes: [],
  parse(text): Record<string, never> {
    refuseUnknownMembers(parsePlainBody(text), [])
    return {}
  },
  run: describeOwnApiKey,
  present: (own, nowMs) => JSON.stringify(presentOwnApiKey(own, nowMs)),
})
