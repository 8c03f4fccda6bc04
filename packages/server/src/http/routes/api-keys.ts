import { plainBodyBytesMax } from '../../core/limits.ts'
import { createApiKeyOperation } from '../../operations/api-keys/create-api-key.ts'
import { describeOwnApiKeyOperation } from '../../operations/api-keys/describe-own-api-key.ts'
import { listApiKeysOperation } from '../../operations/api-keys/list-api-keys.ts'
import { revokeApiKeyOperation } from '../../operations/api-keys/revoke-api-key.ts'
import type { OperationRoute } from './route.ts'

export const apiKeyRoutes = {
  listApiKeys: { operation: listApiKeysOperation, method: 'GET', paths: ['/api/keys'], query: ['limit', 'cursor'] },
  createApiKey: {
    operation: createApiKeyOperation,
    method: 'POST',
    paths: ['/api/keys'],
    body: { schema: 'CreateKeyRequest', required: true, bytesMax: plainBodyBytesMax },
  },
  describeOwnApiKey: { operation: describeOwnApiKeyOperation, method: 'GET', paths: ['/api/keys/self'] },
  revokeApiKey: { operation: revokeApiKeyOperation, method: 'DELETE', paths: ['/api/keys/:id'] },
} satisfies Record<string, OperationRoute>
