import { refusedUntilMs } from '../../../core/tokens/token-state.ts'
import type { Users } from '../../../store/users.ts'
import type { OpenStore } from '../open-store.ts'
import { readIssuers, readUserEpochs, withoutIdentity } from './user-rows.ts'

export const sqliteUsers = (store: OpenStore): Users => ({
  epoch: () => store.orExplain(() => store.registry.users().epoch),

  stateOf(orgId, mark) {
    store.watch?.hold()
    return store.orExplain(() => store.registry.users().stateOf(orgId, mark))
  },

  async revoke(caller, userHash, nowMs) {
    const fence = store.fence(caller)
    const revokedAtMs = await store.channel.submit({ kind: 'revokeUser', fence, nowMs, userHash })
    await store.awaitLeaseExpiry()
    return revokedAtMs
  },

  refusedUntilMs: (orgId, userHash, nowMs) =>
    store.readAnew(() => {
      const sql = 'SELECT revoked_at AS atMs FROM revoked_users WHERE org_id = ?1 AND user_hash = ?2'
      const ownMs = store.db.one<{ atMs: number }>(sql, orgId, userHash)?.atMs ?? 0
      return refusedUntilMs(ownMs, readUserEpochs(store.db).sweptAtMs, nowMs)
    }),

  listIssuers: (orgId) => store.readAnew(() => readIssuers(store.db, orgId).map(withoutIdentity)),

  async putIssuer(caller, issuer, nowMs) {
    const fence = store.fence(caller)
    const result = await store.channel.submit({ kind: 'putIssuer', fence, nowMs, issuer })
    await store.awaitLeaseExpiry()
    return result
  },

  async deleteIssuer(caller, name) {
    const fence = store.fence(caller)
    const deleted = await store.channel.submit({ kind: 'deleteIssuer', fence, name })
    await store.awaitLeaseExpiry()
    return deleted
  },
})
