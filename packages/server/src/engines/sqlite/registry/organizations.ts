import type { Organization, Organizations } from '../../../store/organizations.ts'
import type { OpenStore } from '../open-store.ts'
import { leaseMarginMs, registryLeaseMs } from './registry-cache.ts'
import { type OrganizationRow, organizationColumns, toOrganization } from './rows.ts'

export const sqliteOrganizations = (store: OpenStore): Organizations => {
  const select = (rest: string, ...values: (string | number)[]): Organization[] =>
    store
      .all<OrganizationRow>(`SELECT ${organizationColumns} FROM organizations ${rest}`, ...values)
      .map(toOrganization)
  return {
    create: (name, keys, nowMs) =>
      store.channel.submit({ kind: 'createOrganization', nowMs, name, keys, onlyIfFirst: false }),

    bootstrap: (name, keys, nowMs) =>
      store.channel.submit({ kind: 'createOrganization', nowMs, name, keys, onlyIfFirst: true }),

    find: (name) => select('WHERE name = ?1', name)[0],

    findById: (id) => select('WHERE id = ?1', id)[0],

    list: () => select('ORDER BY name'),

    async delete(name, nowMs) {
      const deleted = await store.channel.submit({ kind: 'deleteOrganization', name, nowMs })
      // A server on the same store, and each of its workers, uses what it has cached until its lease ends. An organization that
      // was deleted before is no exception: the first command may still be waiting.
      if (deleted !== undefined) await Bun.sleep(registryLeaseMs + leaseMarginMs)
      return deleted
    },

    restore: (name, nowMs) => store.channel.submit({ kind: 'restoreOrganization', name, nowMs }),
  }
}
