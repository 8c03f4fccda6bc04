import { CubbyError } from '../../../core/errors.ts'
import { idempotencyKeysMax, idempotencyKeysOfUserMax, revocationMs, sweepGraceMs } from '../../../core/limits.ts'
import type { Maintenance } from '../../../store/maintenance.ts'
import { ChangeSweep } from '../changes/change-sweep.ts'
import type { OpenStore } from '../open-store.ts'
import { findDamagedRows } from './add-checksums.ts'
import { checkStore } from './check.ts'
import { IdempotencyKeySweep } from './idempotency-key-sweep.ts'

export const sqliteMaintenance = (
  store: OpenStore,
  idempotencyKeys = new IdempotencyKeySweep(store),
  changes = new ChangeSweep(store),
): Maintenance => ({
  sweepExpired: (nowMs, rowsMax) => store.channel.submit({ kind: 'sweepExpired', nowMs, rowsMax }),

  purgeTables: (nowMs, rowsMax) => store.channel.submit({ kind: 'purgeTables', nowMs, rowsMax }),

  purgeOrganizations: (nowMs, rowsMax) => store.channel.submit({ kind: 'purgeOrganizations', nowMs, rowsMax }),

  sweepIdempotencyKeys: (nowMs, rowsMax, keysMax = idempotencyKeysMax, keysOfUserMax = idempotencyKeysOfUserMax) =>
    idempotencyKeys.step(nowMs, rowsMax, keysMax, keysOfUserMax),

  sweepRevocations: (nowMs, rowsMax) =>
    store.channel.submit({ kind: 'sweepRevocations', beforeMs: nowMs - revocationMs - sweepGraceMs, rowsMax }),

  sweepChanges: (nowMs, rowsMax) => changes.step(nowMs, rowsMax),

  get changesKept() {
    return changes.kept
  },

  async addChecksums(rowsMax) {
    const { channel, db, snapshot } = store
    try {
      return await channel.submit({ kind: 'addChecksums', rowsMax })
    } catch (error) {
      if (!(error instanceof CubbyError) || error.code !== 'store_damaged') throw error
      snapshot.renew()
      const skipped = findDamagedRows(db, rowsMax)
      if (skipped === undefined) throw error
      return channel.submit({ kind: 'addChecksums', rowsMax, skipped })
    }
  },

  check: (notes) => checkStore(store.db, notes),
})
