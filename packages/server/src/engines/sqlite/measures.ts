import { stat, statfs } from 'node:fs/promises'
import type { Measures, StoreMeasures } from '../../store/measures.ts'
import type { OpenStore } from './open-store.ts'
import type { WriteChannel } from './write/write-channel.ts'

// Each of these statements reads one entry of each index that it needs.
const firstExpiry = 'SELECT ttl * 1000 AS ms FROM records WHERE ttl IS NOT NULL ORDER BY ttl LIMIT 1'
const firstDeletedOf = (table: string): string =>
  `SELECT * FROM (SELECT deleted_at AS ms FROM ${table} WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT 1)`
const firstDeleted = `${firstDeletedOf('tables')} UNION ALL ${firstDeletedOf('organizations')} ORDER BY ms LIMIT 1`
const firstDueBlob = 'SELECT due_at AS ms FROM blobs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1'

/**
 * Undefined if the file is not there, or its directory cannot be read. Only its path is examined: closing the file would drop
 * SQLite's locks.
 */
const bytesOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  )

const read = (store: OpenStore): StoreMeasures => {
  const first = (sql: string): number | undefined => store.all<{ ms: number }>(sql)[0]?.ms
  const pragma = (name: string): number => store.all<Record<string, number>>(`PRAGMA ${name}`)[0]![name]!
  try {
    return {
      storeFreeBytes: pragma('freelist_count') * pragma('page_size'),
      firstExpiryMs: first(firstExpiry),
      firstDeletedMs: first(firstDeleted),
      firstDueBlobMs: first(firstDueBlob),
    }
  } catch {
    // A damaged page must not hide the free space of the disk.
    return {}
  }
}

export const sqliteMeasures = (
  store: OpenStore,
  channel: WriteChannel,
  dataDir: string,
  held: () => Pick<StoreMeasures, 'archive' | 'changesKept'>,
): Measures => ({
  process: () => channel.load ?? {},

  async store() {
    const { path } = store.db
    const [storeBytes, walBytes, disk] = await Promise.all([
      bytesOf(path),
      bytesOf(`${path}-wal`),
      statfs(dataDir).catch(() => undefined),
    ])
    return {
      ...{ storeBytes, walBytes, walPendingPages: channel.load?.walPendingPages },
      ...(disk && { diskBytes: disk.blocks * disk.bsize, diskFreeBytes: disk.bavail * disk.bsize }),
      ...read(store),
      ...held(),
    }
  },
})
