import type { ApiKeys } from '../../../store/api-keys.ts'
import type { OpenStore } from '../open-store.ts'
import { type KeyRow, keyColumns, toApiKey } from './rows.ts'

export const sqliteApiKeys = (store: OpenStore): ApiKeys => ({
  find(text) {
    store.watch?.hold()
    return store.orExplain(() => store.registry.findApiKey(text))
  },

  findById(id) {
    store.watch?.hold()
    return store.orExplain(() => store.registry.findApiKeyById(id))
  },

  create: (caller, key, nowMs) =>
    store.channel.submit({ kind: 'createApiKey', fence: store.fence(caller), nowMs, key }),

  list(orgId, beforeSeq, limit) {
    const epoch = store.epoch()
    const sql = `SELECT ${keyColumns} FROM api_keys WHERE org_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3`
    const rows = store.all<KeyRow>(sql, orgId, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit)
    return rows.map((row) => toApiKey(row, epoch))
  },

  async revoke(caller, id, nowMs) {
    const fence = store.fence(caller)
    const revoked = await store.channel.submit({ kind: 'revokeApiKey', fence, nowMs, id })
    await store.awaitLeaseExpiry()
    return revoked
  },

  async roll(caller, roll, nowMs) {
    const fence = store.fence(caller)
    const result = await store.channel.submit({ kind: 'rollApiKey', fence, nowMs, roll })
    await store.awaitLeaseExpiry()
    return result
  },

  noteUse: (uses) => store.channel.submit({ kind: 'recordKeyUse', uses }),
})
