import { encodeSecrets } from '../../../core/store-secrets.ts'
import type { Transfer } from '../../../store/transfer.ts'
import type { OpenStore } from '../open-store.ts'
import { openDump } from './dump.ts'

export const sqliteTransfer = (store: OpenStore): Transfer => ({
  /** Measured: 27k records/s with 200 in a batch, 43k with 1,000, 47k with 5,000. */
  importBatchRecords: 1_000,

  openDump: async () => openDump(store.db.path, store.rowCheck),

  async load({ secrets, userEpochs: epochs, revocations = [], issuers = [], ...rows }) {
    if (store.role === 'guest') throw new Error('a guest of the store does not write records')
    if (secrets !== undefined) await store.channel.submit({ kind: 'loadSecrets', secrets: encodeSecrets(secrets) })
    if (epochs !== undefined || revocations.length + issuers.length > 0)
      await store.channel.submit({ kind: 'loadUsers', epochs, revocations, issuers })
    await store.channel.submit({ kind: 'load', rows })
  },

  lastRecordId: (tableId) =>
    store.all<{ id: number | null }>('SELECT max(id) AS id FROM records WHERE table_id = ?1', tableId)[0]!.id ?? 0,

  lastRunSeq: () => store.all<{ seq: number | null }>('SELECT max(seq) AS seq FROM runs')[0]!.seq ?? 0,
})
