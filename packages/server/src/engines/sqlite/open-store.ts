import type { Log } from '../../core/log.ts'
import type { Caller } from '../../store/api-keys.ts'
import type { Table } from '../../store/tables.ts'
import { LogFollowers } from './changes/log-followers.ts'
import type { Connection } from './connection.ts'
import type { Damage } from './disk/damage.ts'
import { FileWatch } from './disk/file-watch.ts'
import { acceptsUnchecked } from './maintenance/add-checksums.ts'
import { RowCheck } from './records/row-check.ts'
import { leaseMarginMs, RegistryCache, registryLeaseMs } from './registry/registry-cache.ts'
import type { Fence } from './registry/registry-writes.ts'
import { Snapshot } from './snapshot.ts'
import { makesCachesStale } from './write/command.ts'
import type { WriteChannel } from './write/write-channel.ts'

export type Role = 'owner' | 'guest' | 'worker'

/** The areas of an open store share this: the connection for reads, the channel for writes, and their state. */
export class OpenStore {
  /** A guest has none: its command ends too soon to need one. */
  readonly watch: FileWatch | undefined
  readonly snapshot: Snapshot
  readonly registry: RegistryCache
  readonly rowCheck: RowCheck
  readonly followers = new LogFollowers()
  readonly #channel: WriteChannel

  constructor(
    readonly db: Connection,
    channel: WriteChannel,
    readonly role: Role,
    readonly damage: Damage,
    log: Log,
  ) {
    this.#channel = channel
    db.run('PRAGMA query_only = ON')
    this.snapshot = new Snapshot(db, role === 'owner')
    channel.onCommit = (commands) => {
      this.snapshot.noteCommit()
      if (commands.some(makesCachesStale)) this.registry.forgetEpoch()
    }
    channel.onGrown((heads) => this.followers.note(heads))
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

  /** Calls `work`. Damage that it meets is noted, and becomes the error for the caller. */
  orExplain<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw this.damage.explain(error)
    }
  }

  /** Reads records or runs: `work` sees every write that was acknowledged before. */
  read<T>(work: () => T): T {
    try {
      this.snapshot.refresh()
      return work()
    } catch (error) {
      throw this.damage.explain(error)
    }
  }

  /** Reads the registry: `work` sees every commit of any process before. */
  readAnew<T>(work: () => T): T {
    return this.orExplain(() => {
      this.snapshot.renew()
      return work()
    })
  }

  /** All rows of one statement, read as `readAnew` does. */
  all<Row>(sql: string, ...values: (string | number | null)[]): Row[] {
    return this.readAnew(() => this.db.all<Row>(sql, ...values))
  }

  epoch(): number {
    return this.orExplain(() => this.registry.epoch())
  }

  /** For a guest: a server on the same store uses what it has cached until its lease ends. */
  async awaitLeaseExpiry(): Promise<void> {
    if (this.role === 'guest') await Bun.sleep(registryLeaseMs + leaseMarginMs)
  }

  fence(caller: Caller, table?: Table): Fence {
    const epoch = caller.apiKey?.epoch ?? this.epoch()
    const user = caller.apiKey?.user
    return {
      epoch: table === undefined ? epoch : Math.min(epoch, table.epoch),
      orgId: caller.orgId,
      keySeq: caller.apiKey?.seq ?? null,
      tableId: table?.id ?? null,
      once: caller.once,
      user: user && { ...user.mark, shareSeq: user.shareSeq },
    }
  }
}
