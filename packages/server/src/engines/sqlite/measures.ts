import { stat, statfs } from 'node:fs/promises'
import type { ArchiveState, Measures, ProcessMeasures, StoreMeasures } from '../../store/measures.ts'
import type { OpenStore } from './open-store.ts'
import type { WriteChannel } from './write/write-channel.ts'

// Each of these reads one entry of each index that it needs.
const firstExpiry = 'SELECT ttl * 1000 AS ms FROM records WHERE ttl IS NOT NULL ORDER BY ttl LIMIT 1'
const firstDeletedOf = (table: string): string =>
  `SELECT * FROM (SELECT deleted_at AS ms FROM ${table} WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT 1)`
const firstDeleted = `${firstDeletedOf('tables')} UNION ALL ${firstDeletedOf('organizations')} ORDER BY ms LIMIT 1`
const firstDueBlob = 'SELECT due_at AS ms FROM blobs WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1'

/** Undefined if the file is not there, or its place cannot be read. Only by its path: closing it would drop SQLite's locks. */
const bytesOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  )

export class SqliteMeasures implements Measures {
  readonly #store: OpenStore
  readonly #channel: WriteChannel
  readonly #dataDir: string

  readonly #archive: () => ArchiveState | undefined

  constructor(store: OpenStore, channel: WriteChannel, dataDir: string, archive: () => ArchiveState | undefined) {
    this.#store = store
    this.#channel = channel
    this.#dataDir = dataDir
    this.#archive = archive
  }

  process(): ProcessMeasures {
    return this.#channel.load ?? {}
  }

  async store(): Promise<StoreMeasures> {
    const { path } = this.#store.db
    const [storeBytes, walBytes, disk] = await Promise.all([
      bytesOf(path),
      bytesOf(`${path}-wal`),
      statfs(this.#dataDir).catch(() => undefined),
    ])
    return {
      ...{ storeBytes, walBytes, walPendingPages: this.#channel.load?.walPendingPages },
      ...(disk && { diskBytes: disk.blocks * disk.bsize, diskFreeBytes: disk.bavail * disk.bsize }),
      ...this.#tryRead(),
      archive: this.#archive(),
    }
  }

  /** A damaged page must not hide the free space of the disk. */
  #tryRead(): StoreMeasures {
    try {
      return this.#read()
    } catch {
      return {}
    }
  }

  #read(): StoreMeasures {
    const first = (sql: string): number | undefined => this.#store.all<{ ms: number }>(sql)[0]?.ms
    const pragma = (name: string): number => this.#store.all<Record<string, number>>(`PRAGMA ${name}`)[0]![name]!
    return {
      storeFreeBytes: pragma('freelist_count') * pragma('page_size'),
      firstExpiryMs: first(firstExpiry),
      firstDeletedMs: first(firstDeleted),
      firstDueBlobMs: first(firstDueBlob),
    }
  }
}
