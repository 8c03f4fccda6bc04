import type { Log } from '../../core/log.ts'
import type { Caller } from '../../store/api-keys.ts'
import type { Table } from '../../store/tables.ts'
import type { Connection } from './connection.ts'
import type { Damage } from './disk/damage.ts'
import { FileWatch } from './disk/file-watch.ts'
import { acceptsUnchecked } from './maintenance/add-checksums.ts'
import { RowCheck } from './records/row-check.ts'
import { RegistryCache, registryLeaseMs } from './registry/registry-cache.ts'
import type { Fence } from './registry/registry-writes.ts'
import { Snapshot } from './snapshot.ts'
import { makesCachesStale } from './write/command.ts'
import type { WriteChannel } from './write/write-channel.ts'

export type Role = 'owner' | 'guest' | 'worker'

interface OpenStoreOptions {
  db: Connection
  channel: WriteChannel
  role: Role
  damage: Damage
  log: Log
}

/** What the areas of an open store share: the connection for reads, the channel for writes, and their state. */
export class OpenStore {
  readonly db: Connection
  readonly role: Role
  readonly damage: Damage
  /** A guest has none: its command ends too soon to need one. */
  readonly watch: FileWatch | undefined
  readonly snapshot: Snapshot
  readonly registry: RegistryCache
  readonly rowCheck: RowCheck
  readonly #channel: WriteChannel

  constructor({ db, channel, role, damage, log }: OpenStoreOptions) {
    this.db = db
    this.role = role
    this.damage = damage
    this.#channel = channel
    db.run('PRAGMA query_only = ON')
    this.snapshot = new Snapshot(db, role === 'owner')
    channel.onCommit = (commands) => {
      this.snapshot.noteCommit()
      if (commands.some(makesCachesStale)) this.registry.forgetEpoch()
    }
    channel.onDamage = (cause) => damage.note(cause)
    this.registry = new RegistryCache(db, this.snapshot, role === 'guest' ? 0 : registryLeaseMs)
    this.rowCheck = new RowCheck(log, acceptsUnchecked(db))
    this.watch = role === 'guest' ? undefined : new FileWatch(db.path, log)
  }

  /** The channel to the writer. Throws while the store's files are not at their paths. */
  get channel(): WriteChannel {
    this.watch?.hold()
    return this.#channel
  }

  all<Row>(sql: string, ...values: (string | number | null)[]): Row[] {
    try {
      this.snapshot.renew()
      return this.db.prepare<Row, (string | number | null)[]>(sql).all(...values)
    } catch (error) {
      throw this.damage.explain(error)
    }
  }

  epoch(): number {
    try {
      return this.registry.epoch()
    } catch (error) {
      throw this.damage.explain(error)
    }
  }

  fence(caller: Caller, table?: Table): Fence {
    const stamp = caller.apiKey?.stamp ?? this.epoch()
    return {
      stamp: table === undefined ? stamp : Math.min(stamp, table.stamp),
      orgId: caller.orgId,
      keySeq: caller.apiKey?.seq ?? null,
      tableId: table?.id ?? null,
    }
  }
}
