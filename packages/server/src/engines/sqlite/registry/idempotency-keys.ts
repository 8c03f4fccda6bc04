import type { IdempotencyKeys, KeptResult } from '../../../store/idempotency.ts'
import type { OpenStore } from '../open-store.ts'

export const sqliteIdempotencyKeys = (store: OpenStore): IdempotencyKeys => ({
  find: ({ scopeId, scopeKind, keyHash }) =>
    store.read(() =>
      store.db.one<KeptResult>(
        `SELECT lower(hex(request_hash)) AS requestHash, created_at AS createdAtMs, result FROM idempotency_keys
         WHERE scope_id = ?1 AND scope_kind = ?2 AND key_hash = unhex(?3)`,
        ...[scopeId, scopeKind, keyHash],
      ),
    ),
})
