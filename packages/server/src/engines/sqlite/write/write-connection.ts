import { CubbyError } from '../../../core/errors.ts'
import { claimBytesMax, commitBytesMax } from '../../../core/limits.ts'
import { type CheckpointFault, Connection } from '../connection.ts'
import { causeOf, codeOf, damageHint, damageMessage, isDamage } from '../disk/damage.ts'
import { faultPoint } from '../disk/fault-point.ts'
import { FileWrites } from '../files/file-writes.ts'
import { addChecksums } from '../maintenance/add-checksums.ts'
import { purgeOrganizations } from '../maintenance/purge-organizations.ts'
import { purgeTables, sweepExpired } from '../maintenance/sweep.ts'
import { readSpace, type Space, type VacuumStep, vacuumStep } from '../maintenance/vacuum-step.ts'
import { RecordWrites } from '../records/record-writes.ts'
import { RegistryWrites } from '../registry/registry-writes.ts'
import { applyBatch } from '../runs/batch-writes.ts'
import { expireLeases, fireSchedules, sweepFinished } from '../runs/due-runs.ts'
import { RunWrites } from '../runs/run-writes.ts'
import { TaskWrites } from '../tasks/task-writes.ts'
import { loadRows } from '../transfer/load.ts'
import { type Command, type CommandFailure, type Fence, makesCachesStale, type Outcome } from './command.ts'

const cacheKib = 65_536

/** A commit ends after the claim that reaches this: with it, claims make up at most half of what a commit may have. */
const claimedBytesMax = commitBytesMax / 2 - claimBytesMax

/**
 * The only connection that writes records. A group of commands is one transaction and one sync. No command of it is
 * answered before that sync has returned.
 */
export class WriteConnection {
  readonly #path: string
  readonly #faults: string | undefined
  #db!: Connection
  #records!: RecordWrites
  #registry!: RegistryWrites
  readonly #walBytesKept: number | undefined
  #files!: FileWrites
  #tasks!: TaskWrites
  #runs!: RunWrites
  /** Whether the connection was opened again since this was last set to false. */
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

  #open(): void {
    if (this.#faults !== undefined) faultPoint(this.#faults, 'open')
    this.#db = new Connection(this.#path, cacheKib)
    if (this.#walBytesKept !== undefined) this.#db.run(`PRAGMA journal_size_limit = ${this.#walBytesKept}`)
    this.#records = new RecordWrites(this.#db)
    this.#registry = new RegistryWrites(this.#db)
    this.#files = new FileWrites(this.#db, this.#records)
    this.#tasks = new TaskWrites(this.#db, this.#registry)
    this.#runs = new RunWrites(this.#db, this.#tasks)
  }

  /** After a failed commit the state of the connection is not trusted. */
  #reopen(): void {
    try {
      this.#db.close()
    } catch {
      // The new connection recovers from the WAL even if the old one could not be closed.
    }
    this.reopened = true
    this.#open()
  }

  #rollBack(): void {
    try {
      if (this.#db.inTransaction) this.#db.run('ROLLBACK')
    } catch {
      // After a damaged page SQLite may report it once more.
    }
    if (this.#db.inTransaction) this.#reopen()
  }

  /**
   * One outcome per command, in order. An error of the store is an outcome too. Claims may make a commit too large: then it
   * ends after the first commands, and there are outcomes only for those. Commit the others next.
   */
  commit(commands: Command[]): Outcome[] {
    if (this.failure !== undefined) return commands.map(() => ({ failure: ending }))
    const faults = commands.every(({ kind }) => kind === 'vacuum') ? undefined : this.#faults
    try {
      this.#db.run('BEGIN IMMEDIATE')
    } catch (error) {
      return failAll(commands, error, 'begin')
    }
    if (faults !== undefined) faultPoint(faults, 'begun')
    let outcomes: Outcome[]
    try {
      let epoch = this.#registry.epoch()
      outcomes = []
      this.#runs.claimedBytes = 0
      for (const command of commands) {
        outcomes.push(this.#attempt(command, epoch, commands.length === 1))
        if (makesCachesStale(command)) epoch = this.#registry.epoch()
        if (this.#runs.claimedBytes >= claimedBytesMax) break
      }
      if (faults !== undefined) faultPoint(faults, 'statement')
    } catch (error) {
      if (isFatal(error)) {
        // A full disk, an I/O error: it concerns the whole group.
        this.#reopen()
        return failAll(commands, error, 'statement')
      }
      // The error concerns one command, which may have written a part: roll back, then give each command its own
      // transaction.
      this.#rollBack()
      this.#records.forgetReservedIds()
      return commands.length === 1
        ? failAll(commands, error, 'statement')
        : commands.flatMap((command) => this.commit([command]))
    }
    try {
      if (faults !== undefined) faultPoint(faults, 'commit')
      this.#db.run('COMMIT')
      return outcomes
    } catch (error) {
      const later = commands.slice(outcomes.length)
      outcomes = failAll(commands.slice(0, outcomes.length), error, 'commit')
      if (!codeOf(error).startsWith('SQLITE_IOERR')) {
        this.#reopen()
        return outcomes
      }
      // The kernel reports a failed sync once: a second one would succeed and prove nothing.
      this.failure = `commit: ${codeOf(error)} ${(error as Error).message}`
      return [...outcomes, ...later.map(() => ({ failure: ending }))]
    }
  }

  /** A command that is rejected with a CubbyError has written nothing. */
  #attempt(command: Command, epoch: number, isAlone: boolean): Outcome {
    try {
      return { value: this.#execute(command, epoch, isAlone) }
    } catch (error) {
      if (!(error instanceof CubbyError)) throw error
      return { failure: { code: error.code, message: error.message, hint: error.hint } }
    }
  }

  /** `isAlone`: the transaction has no other command. */
  #execute(command: Command, epoch: number, isAlone: boolean): unknown {
    const registry = this.#registry
    switch (command.kind) {
      case 'write':
        this.#checkFence(command.fence, epoch)
        return this.#records.write(command.fence.tableId!, command.operations, command.nowMs)
      case 'createTable':
        this.#checkFence(command.fence, epoch, command.table.orgId)
        return registry.createTable(command.table, command.indices, command.publicId, command.nowMs)
      case 'deleteTable':
        this.#checkFence(command.fence, epoch, command.table.orgId)
        return registry.deleteTable(command.table, command.nowMs)
      case 'restoreTable':
        this.#checkFence(command.fence, epoch, command.table.orgId)
        return registry.restoreTable(command.table, command.deletedAtMs, command.nowMs)
      case 'createApiKey':
        this.#checkFence(command.fence, epoch, command.orgId)
        return registry.createApiKey(command.orgId, command.key, command.nowMs, command.fence.keySeq)
      case 'revokeApiKey':
        this.#checkFence(command.fence, epoch, command.orgId)
        return registry.revokeApiKey(command.orgId, command.id, command.nowMs)
      case 'recordKeyUse':
        return registry.recordKeyUse(command.uses)
      case 'createOrganization':
        return registry.createOrganization(command.name, command.keys, command.nowMs, command.onlyIfFirst)
      case 'deleteOrganization':
        return registry.deleteOrganization(command.name, command.nowMs)
      case 'restoreOrganization':
        return registry.restoreOrganization(command.name, command.nowMs)
      case 'rotateSecrets':
        return registry.rotateSecrets(command)
      case 'beginBlob':
        this.#checkFence(command.fence, epoch)
        return this.#files.begin(command.fence.tableId!, command.blobId, command.nowMs)
      case 'keepBlobs':
        return this.#files.keepAlive(command.blobIds, command.nowMs)
      case 'commitFile':
        this.#checkFence(command.fence, epoch)
        return this.#files.commit(command.fence.tableId!, command.file, command.bytes, command.nowMs)
      case 'abandonBlob':
        return this.#files.abandon(command.blobId, command.nowMs)
      case 'changeFile': {
        this.#checkFence(command.fence, epoch)
        const { fence, name, changes, condition, nowMs } = command
        return this.#files.change(fence.tableId!, name, changes, condition, nowMs)
      }
      case 'removeFile':
        this.#checkFence(command.fence, epoch)
        return this.#files.remove(command.fence.tableId!, command.name, command.condition, command.nowMs)
      case 'takeDueBlobs':
        return this.#files.takeDue(command.nowMs, command.rowsMax, command.keptMs)
      case 'forgetBlobs':
        return this.#files.forget(command.blobIds)
      case 'holdBlobs':
        return this.#files.holdSweep(command.untilMs)
      case 'adoptBlobs':
        return this.#files.adoptBlobs()
      case 'writeFileMark':
        return this.#files.writeMark(command.mark)
      case 'declareTask':
        this.#checkFence(command.fence, epoch, command.table.orgId)
        return this.#tasks.declare(command.table, command.declaration, command.condition, command.nowMs)
      case 'deleteTask':
        this.#checkFence(command.fence, epoch, command.table.orgId)
        return this.#tasks.delete(command.table, command.condition, command.nowMs)
      case 'restoreTask':
        this.#checkFence(command.fence, epoch, command.table.orgId)
        return this.#tasks.restore(command.table, command.deletedAtMs, command.nowMs)
      case 'addTaskSecret': {
        this.#checkFence(command.fence, epoch)
        const { fence, secret, revokesOld, nowMs } = command
        return this.#tasks.addSecret(fence.tableId!, secret, revokesOld, nowMs)
      }
      case 'addRun':
        this.#checkFence(command.fence, epoch)
        return this.#runs.add(command.fence.tableId!, command.run, command.nowMs)
      case 'claimRuns':
        this.#checkFence(command.fence, epoch)
        return this.#runs.claim(command.fence.tableId!, command.options, command.nowMs)
      case 'extendRun':
        this.#checkAttempt(command.fence, epoch, command.taskId)
        return this.#runs.extend(command.taskId, command.id, command.extension, command.nowMs)
      case 'finishRun':
        this.#checkAttempt(command.fence, epoch, command.taskId)
        return this.#runs.finish(command.taskId, command.id, command.finish, false, command.nowMs)
      case 'cancelRun':
        this.#checkFence(command.fence, epoch)
        return this.#runs.cancel(command.fence.tableId!, command.id, command.nowMs)
      case 'retryRun':
        this.#checkFence(command.fence, epoch)
        return this.#runs.retry(command.fence.tableId!, command.id, command.nowMs)
      case 'batch': {
        const { fence, records, tasks, nowMs } = command
        this.#checkFence(fence, epoch)
        for (const { op, taskId } of tasks) if (op === 'run') this.#checkFence({ ...fence, tableId: taskId }, epoch)
        const parts = { db: this.#db, records: this.#records, runs: this.#runs }
        return applyBatch(parts, fence.tableId, records, tasks, nowMs)
      }
      case 'claimPushes':
        return this.#registry.tableIsActive(command.taskId)
          ? this.#runs.claimPushes(command.taskId, command.limit, command.nowMs)
          : undefined
      case 'expireLeases':
        return expireLeases(this.#db, this.#tasks, this.#runs, command)
      case 'fireSchedules':
        return fireSchedules(this.#db, this.#tasks, this.#runs, command)
      case 'sweepRuns':
        return sweepFinished(this.#db, command.seqs, command.before)
      case 'load':
        // The loaded rows may have ids above the reserved block.
        this.#records.forgetReservedIds()
        return loadRows(this.#db, command.rows)
      case 'sweepExpired':
        return sweepExpired(this.#db, command.nowMs, command.rowsMax)
      case 'purgeTables':
        return purgeTables(this.#db, command.nowMs, command.rowsMax)
      case 'purgeOrganizations':
        return purgeOrganizations(this.#db, command.nowMs, command.rowsMax)
      case 'addChecksums':
        return addChecksums(this.#db, command.rowsMax, command.skipped)
      case 'vacuum':
        return this.#vacuum(command, isAlone)
      case 'loadSecrets':
        return registry.replaceSecrets(command.secrets)
    }
  }

  #vacuum(step: VacuumStep, isAlone: boolean): Space | undefined {
    if (this.#faults === undefined) return vacuumStep(this.#db, step, isAlone)
    const { pages } = readSpace(this.#db)
    const space = vacuumStep(this.#db, step, isAlone)
    if (readSpace(this.#db).pages < pages) faultPoint(this.#faults, 'vacuum')
    return space
  }

  /**
   * A key may have been revoked, or a table or organization deleted, since the caller looked it up. `orgId`: whose registry
   * the command changes. An operator's command has no key that would tell.
   */
  #checkFence(fence: Fence, epoch: number, orgId?: number): void {
    if (fence.keySeq === null && orgId !== undefined && !this.#registry.organizationIsActive(orgId)) {
      throw organizationDeleted()
    }
    if (fence.stamp === epoch) return
    const key = fence.keySeq === null ? 'active' : this.#registry.stateOfKey(fence.keySeq)
    if (key === 'unknown') throw organizationDeleted()
    if (key === 'revoked') throw new CubbyError('revoked_api_key', 'The API key has been revoked.')
    if (fence.tableId !== null && !this.#registry.tableIsActive(fence.tableId)) {
      const isThere = this.#registry.kindOf(fence.tableId) !== undefined
      if (isThere && !this.#registry.tableIsOfActive(fence.tableId)) throw organizationDeleted()
      const kind = this.#registry.kindOf(fence.tableId) ?? 'table'
      throw new CubbyError(`${kind}_not_found`, `The ${kind} has been deleted.`)
    }
  }

  /** Attempts of a deleted task go on, but not those of a deleted organization. A push has no key that would tell. */
  #checkAttempt(fence: Fence, epoch: number, taskId: number): void {
    this.#checkFence(fence, epoch)
    if (fence.keySeq === null && !this.#registry.tableIsOfActive(taskId)) throw organizationDeleted()
  }

  /** Pages in the WAL, and how many of them are in the database file too. */
  walPages(): { log: number; checkpointed: number } {
    return this.#db.prepare<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(NOOP)').get()!
  }

  /** For a WAL reset: the checkpoint thread has already copied most pages. */
  checkpoint(): CheckpointFault | undefined {
    return this.#db.checkpoint()
  }

  /** Nothing may be pending. */
  truncateWal(): CheckpointFault | undefined {
    return this.#db.truncateWal()
  }

  close(): void {
    this.#db.close()
  }
}

const organizationDeleted = (): CubbyError => new CubbyError('invalid_api_key', 'The organization has been deleted.')

const ending: CommandFailure = {
  code: 'unavailable',
  message: 'The disk failed and the server is ending; nothing was applied.',
}

/** Whether it concerns the whole group. A damaged page does not: only the commands that need it fail. */
const isFatal = (error: unknown): boolean =>
  !isDamage(error) && /^SQLITE_(FULL|IOERR|NOMEM|READONLY|CANTOPEN)/.test(codeOf(error))

const describeFailure = (error: unknown, phase: 'begin' | 'statement' | 'commit'): CommandFailure => {
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

const failAll = (commands: Command[], error: unknown, phase: 'begin' | 'statement' | 'commit'): Outcome[] => {
  const failure = describeFailure(error, phase)
  return commands.map(() => ({ failure }))
}
