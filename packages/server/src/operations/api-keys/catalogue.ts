import { entry } from '../catalogue-entry.ts'
import { inputOf, ref } from '../schema.ts'
import { listingMembers } from '../tables/schemas.ts'
import { createApiKeyOperation } from './create-api-key.ts'
import { describeOwnApiKeyOperation } from './describe-own-api-key.ts'
import * as examples from './examples.ts'
import { listApiKeysOperation } from './list-api-keys.ts'
import { revokeApiKeyOperation } from './revoke-api-key.ts'
import { apiKeySchemas } from './schemas.ts'

export const apiKeyCatalogue = {
  createApiKey: entry(createApiKeyOperation, {
    input: inputOf(apiKeySchemas.CreateKeyRequest, {}),
    output: ref('CreateKeyResponse'),
    examples: examples.createApiKey,
  }),
  listApiKeys: entry(listApiKeysOperation, {
    input: inputOf({}, listingMembers),
    output: ref('KeyList'),
    examples: examples.listApiKeys,
  }),
  describeOwnApiKey: entry(describeOwnApiKeyOperation, {
    input: inputOf({}, {}),
    output: ref('OwnKey'),
    examples: examples.describeOwnApiKey,
  }),
  revokeApiKey: entry(revokeApiKeyOperation, {
    input: inputOf({}, { id: { ...ref('RecordKeyPart'), description: 'The id of the key, from the list of keys.' } }, [
      'id',
    ]),
    output: ref('Key'),
    examples: examples.revokeApiKey,
  }),
}
