import { CubbyError } from '../../../core/errors.ts'
import { claimBytesMax, commitBytesMax } from '../../../core/limits.ts'
import type { Once } from '../../../store/idempotency.ts'
import { ChangeLog, type LogHead } from '../changes/change-log.ts'
import { Connection } from '../connection.ts'
import { causeOf, codeOf, damageHint, damageMessage, isDamage } from '../disk/damage.ts'
import { faultPoint } from '../disk/fault-point.ts'
import { RecordWrites } from '../records/record-writes.ts'
import { type Fence, RegistryWrites } from '../registry/registry-writes.ts'
import { FollowedWrites } from '../runs/followed-writes.ts'
import { RunWrites } from '../runs/run-writes.ts'
import { TaskWrites } from '../tasks/task-writes.ts'
import type { Command, CommandFailure, Outcome } from './command.ts'
import { commands } from './commands.ts'
import { IdempotencyKeyWrites } from './idempotency-key-writes.ts'

const cacheKib = 65_536

/** A commit ends after the claim that reaches this: with it, claims make up at most half of what a commit may have. */
const claimedBytesMax = commitBytesMax / 2 - claimBytesMax

/** The same for patches, whose requests do not tell how much they read and write. */
const patchedBytesMax = (commitBytesMax * 2) / 5

/** The functions of commands.ts take parts of this. */
interface Writers {
  db: Connection
  log: ChangeLog
  followed: FollowedWrites
  records: RecordWrites
  registry: RegistryWrites
  tasks: TaskWrites
  runs: RunWrites
  idempotencyKeys: IdempotencyKeyWrites
  /** True if the transaction has no other command. */
  isAlone: boolean
  /** Tests set it: see fault-point.ts. */
  faults: string | undefined
}

/** A command of a request. */
type OfRequest = Command & { fence: Fence; nowMs: number }

type Apply = (writers: Writers, command: Command) => unknown

/**
 * The only connection that writes records. A group of commands is one transaction and one sync. No command of it is
 * answered before that sync has returned.
 */
export class WriteConnection {
  readonly #path: string
  readonly #faults: string | undefined
  readonly #walBytesKept: number | undefined
  #writers!: Writers
  /** What the commits have added since it was last taken. */
  readonly #grown = new Map<number, number>()
  #added = 0
  /** Set when the connection was opened again. The reader sets it to false. */
  reopened = false
  /** Set when a COMMIT failed with an I/O error. Nothing is written from then on. */
  failure: string | undefined

  /** `faults`: see fault-point.ts. `walBytesKept`: the size to which a commit that resets the WAL cuts its file. */
  constructor(path: string, faults?: string, walBytesKept?: number) {
    this.#path = path
    this.#faults = faults
    this.#walBytesKept = walBytesKept
    this.#open()
  }

  /** It is another object after the connection was opened again. */
  get db(): Connection {
    return this.#writers.db
  }

  #open(): void {
    if (this.#faults !== undefined) faultPoint(this.#faults, 'open')
    const db = new Connection(this.#path, cacheKib)
    if (this.#walBytesKept !== undefined) db.run(`PRAGMA journal_size_limit = ${this.#walBytesKept}`)
    const log = new ChangeLog(db)
    const registry = new RegistryWrites(db)
    const tasks = new TaskWrites(db)
    const runs = new RunWrites(db, tasks)
    const followed = new FollowedWrites(db, log, runs)
    const records = new RecordWrites(db, followed)
    const idempotencyKeys = new IdempotencyKeyWrites(db)
    const [isAlone, faults] = [false, this.#faults]
    this.#writers = { db, log, followed, records, registry, tasks, runs, idempotencyKeys, isAlone, faults }
  }

  /** After a failed commit the state of the connection is not trusted. */
  #reopen(): void {
    try {
      this.db.close()
    } catch {
      // The new connection recovers from the WAL even if the old one could not be closed.
    }
    this.reopened = true
    this.#open()
  }

  #rollBack(): void {
    try {
      if (this.db.inTransaction) this.db.run('ROLLBACK')
    } catch {
      // SQLite may report a damaged page once more.
    }
    if (this.db.inTransaction) this.#reopen()
  }

  /**
   * Returns one outcome per command, in order. An error of the store is an outcome too. Claims and patches may make a commit too large:
   * then it ends after the first commands, and there are outcomes only for those. Commit the others next.
   */
  commit(group: Command[]): Outcome[] {
    if (this.failure !== undefined) return group.map(() => ({ failure: ending }))
    const faults = group.every(({ kind }) => kind === 'vacuum') ? undefined : this.#faults
    try {
      this.db.run('BEGIN IMMEDIATE')
    } catch (error) {
      return failAll(group, error, 'begin')
    }
    if (faults !== undefined) faultPoint(faults, 'begun')
    let outcomes: Outcome[]
    try {
      const { records, registry, runs } = this.#writers
      registry.readEpoch()
      outcomes = []
      runs.claimedBytes = 0
      records.patchedBytes = 0
      this.#writers.isAlone = group.length === 1
      for (const command of group) {
        outcomes.push(this.#attempt(command))
        if (runs.claimedBytes >= claimedBytesMax || records.patchedBytes >= patchedBytesMax) break
      }
      if (faults !== undefined) faultPoint(faults, 'statement')
    } catch (error) {
      if (isFatal(error)) {
        // The error, such as a full disk, concerns the whole group.
        this.#reopen()
        return failAll(group, error, 'statement')
      }
      // The error concerns one command, which may have written a part: roll back, then give each command its own
      // transaction.
      this.#rollBack()
      this.#writers.records.forgetReservedIds()
      this.#writers.idempotencyKeys.forget()
      this.#writers.log.rolledBack()
      this.#writers.followed.rolledBack(0)
      return group.length === 1
        ? failAll(group, error, 'statement')
        : group.flatMap((command) => this.commit([command]))
    }
    try {
      if (faults !== undefined) faultPoint(faults, 'commit')
      this.db.run('COMMIT')
    } catch (error) {
      const later = group.slice(outcomes.length)
      outcomes = failAll(group.slice(0, outcomes.length), error, 'commit')
      if (!codeOf(error).startsWith('SQLITE_IOERR')) {
        this.#reopen()
        return outcomes
      }
      // The kernel reports a failed sync once: a second one would succeed and prove nothing.
      this.failure = `commit: ${codeOf(error)} ${(error as Error).message}`
      return [...outcomes, ...later.map(() => ({ failure: ending }))]
    }
    this.#keepCommitted()
    return outcomes
  }

  /** What a commit has added stays, whatever becomes of the next commands of its group. */
  #keepCommitted(): void {
    const { log, followed } = this.#writers
    for (const [tableId, seq] of log.takeGrown() ?? []) this.#grown.set(tableId, seq)
    this.#added += followed.takeAdded()
  }

  /** A command that is rejected with a CubbyError has written nothing. */
  #attempt(command: Command): Outcome {
    try {
      const once = 'fence' in command ? command.fence.once : undefined
      if ('fence' in command) this.#writers.registry.checkFence(command.fence)
      return { value: once === undefined ? this.#apply(command) : this.#applyOnce(once, command as OfRequest) }
    } catch (error) {
      if (!(error instanceof CubbyError)) throw error
      return { failure: { code: error.code, message: error.message, hint: error.hint, field: error.field } }
    }
  }

  #apply(command: Command): unknown {
    return (commands[command.kind] as Apply)(this.#writers, command)
  }

  /** The result of the command, or that of an earlier one for the same request. */
  #applyOnce(once: Once, command: OfRequest): unknown {
    const { idempotencyKeys } = this.#writers
    const earlier = idempotencyKeys.replay(once)
    if (earlier !== undefined) return earlier
    const result = this.#apply(command)
    idempotencyKeys.keep(once, command.fence.orgId, command.nowMs, result)
    return result
  }

  /** The logs that the commits since the last call have added to. */
  takeGrown(): LogHead[] | undefined {
    if (this.#grown.size === 0) return undefined
    const heads: LogHead[] = [...this.#grown]
    this.#grown.clear()
    return heads
  }

  /** The runs that the writes of those commits have added to tasks that follow a table. */
  takeAdded(): number {
    const added = this.#added
    this.#added = 0
    return added
  }

  /** The number of pages in the WAL, and of those that are in the database file too. */
  walPages(): { log: number; checkpointed: number } {
    return this.db.one('PRAGMA wal_checkpoint(NOOP)')!
  }
}

type Phase = 'begin' | 'statement' | 'commit'

const ending: CommandFailure = {
  code: 'unavailable',
  message: 'The disk failed and the server is ending; nothing was applied.',
}

/** Tells whether the error concerns the whole group. A damaged page does not: only the commands that need it fail. */
const isFatal = (error: unknown): boolean =>
  !isDamage(error) && /^SQLITE_(FULL|IOERR|NOMEM|READONLY|CANTOPEN)/.test(codeOf(error))

const describeFailure = (error: unknown, phase: Phase): CommandFailure => {
  const code = codeOf(error)
  const cause = `${phase}: ${code} ${(error as Error).message ?? error}`
  if (code.startsWith('SQLITE_FULL')) {
    return {
      code: 'storage_full',
      message: 'The disk is full; nothing was applied.',
      hint: 'Reads still work. Repeat the request once there is room.',
      cause,
    }
  }
  if (phase !== 'commit' && isDamage(error)) {
    return { code: 'store_damaged', message: damageMessage, hint: damageHint, cause: causeOf(error) }
  }
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return { code: 'unavailable', message: 'Another process holds the store; nothing was applied.', cause }
  }
  // The commit may be in the WAL although its sync failed, and may or may not survive a crash.
  if (phase === 'commit') {
    return {
      code: 'outcome_unknown',
      message: 'The commit failed; the write may or may not have been applied.',
      hint: 'Read the record before repeating the request.',
      cause,
    }
  }
  return { code: 'internal', message: 'The store failed; nothing was applied.', cause }
}

const failAll = (commands: Command[], error: unknown, phase: Phase): Outcome[] => {
  const failure = describeFailure(error, phase)
  return commands.map(() => ({ failure }))
}
