import type { IdempotencyKeys } from '../../../store/idempotency.ts'
import type { OpenStore } from '../open-store.ts'

export const sqliteIdempotencyKeys = (store: OpenStore): IdempotencyKeys => ({
  find: (key, orgId) => store.channel.submit({ kind: 'findIdempotencyKey', orgId, key }),
})
