// Decides when WAL pages are checkpointed into the database file, and when the WAL is reset. It is a state machine without
// threads, disk or clock: its input is an event, its output the next actions. checkpointer.ts carries them out. The
// measurements behind the numbers are in docs/reference.md.

/** The checkpoint thread starts when this many pages are pending, that is, in the WAL and not in the database file. */
export const checkpointAtPages = 16_000
/** A reset is wanted from this WAL size on: passive checkpoints follow each other until few pages are pending. */
export const resetAtPages = 32_000
/** The writer checkpoints at most this many pages itself, for the reset. Commits wait only for this part. */
export const resetPendingPagesMax = 1_000
/** Commits wait for a reset at this WAL size, however many pages are pending. Only commits in flight exceed it. */
export const walPagesMax = 64_000
/** Pending pages are checkpointed, and the WAL is reset, after this time without a commit: reads are faster without a WAL. */
export const quietMs = 100
/** The WAL is made an empty file after this time without a commit that wrote something: the disk gets its space back. */
export const idleMs = 10_000
/** The idle time is counted in steps: a step with such a commit starts the count again. */
export const idleSteps = 10

/**
 * `repeatable`: the disk was full or the file busy, and SQLite recorded nothing as copied.
 * `damage`: the database file is too short, or not a database; SQLite noticed before it copied anything, and keeps the WAL.
 * `disk`: any other fault. Pages may be lost that SQLite recorded as copied: no checkpoint may follow.
 */
export type CheckpointFaultKind = 'repeatable' | 'damage' | 'disk'

/**
 * The reason for a sync of the database file. `ahead`: SQLite itself syncs it only with the checkpoint that allows the reset,
 * and every commit would wait for that. A sync ahead, after a passive checkpoint, leaves little to sync then. The others: a
 * connection was opened again, and may miss that an earlier write failed (see `#file` in checkpointer.ts).
 */
export type SyncReason = 'ahead' | 'reopened' | 'writer' | 'checkpointer'

export type CheckpointEvent =
  /** The writer committed a group. `reopened`: it then opened its connection again. */
  | { kind: 'committed'; walPages: number; pendingPages: number; reopened?: boolean }
  /** The passive checkpoint ended. */
  | { kind: 'checkpointed'; fault?: CheckpointFaultKind }
  /** The writer's checkpoint for a reset ended. If the WAL has no page, the file is empty. */
  | { kind: 'reset'; walPages: number; pendingPages: number; fault?: CheckpointFaultKind }
  | { kind: 'synced'; reason: SyncReason; ok: boolean }
  /** `quietMs` have passed since `awaitQuiet`. */
  | { kind: 'quiet' }
  /** A step of the idle time has passed since `awaitIdle`. */
  | { kind: 'idle' }
  /** The thread failed. No result of its work will be reported. */
  | { kind: 'writerLost' }
  | { kind: 'writerStarted' }
  | { kind: 'checkpointerLost' }
  | { kind: 'checkpointerStarted' }
  /** A commit met an I/O error. The process is about to end. */
  | { kind: 'failed' }
  /** No further write is accepted. */
  | { kind: 'closing' }
  /** This comes after `closing`: every accepted write is committed, and nothing runs. */
  | { kind: 'rest' }

/**
 * `checkpoint`: start a passive one. `reset`: let the writer checkpoint. `truncate`: the same, and let it make the WAL an empty
 * file. `awaitQuiet`: report `quiet` in `quietMs`. `awaitIdle`: report `idle` after a step of the idle time.
 */
export type CheckpointAction =
  | { do: 'checkpoint' }
  | { do: 'sync'; reason: SyncReason }
  | { do: 'reset' | 'truncate' | 'awaitQuiet' | 'awaitIdle' }

/** Write requests at the time of an event. */
export interface Traffic {
  /** Requests that were sent to the writer and not answered. Those that the event answers are not counted. */
  inFlight: number
  /** True if requests are in the write queue. */
  queued: boolean
}

export class CheckpointPolicy {
  /** False for a guest: it neither checkpoints nor syncs. */
  readonly #enabled: boolean
  /**
   * Without an archive, an idle store makes its WAL an empty file. With one, a command beside the server could commit between
   * the archive's last look and the truncation, and nothing would notice. Then the first commit after a reset makes the file
   * small.
   */
  readonly #hasArchive: boolean
  /** `syncing`: the sync ahead that belongs to it runs. */
  #checkpoint: 'none' | 'running' | 'syncing' = 'none'
  /** `due`: nothing new is sent to the writer. `running`: nothing is in flight either. */
  #reset: 'none' | 'due' | 'running' = 'none'
  #syncsRunning = 0
  #walPages = 0
  #pendingPages = 0
  #forceResetAtPages = walPagesMax
  /** The passive checkpoint was started because writes paused: the WAL is reset after it, or made an empty file. */
  #tidying: 'none' | 'reset' | 'truncate' = 'none'
  /** True if the reset makes the WAL an empty file. */
  #truncates = false
  /** The number of commits that wrote something. A sweep that finds nothing commits too. */
  #commits = 0
  #commitsBeforeQuiet = 0
  #awaitsQuiet = false
  #commitsBeforeIdle = 0
  #awaitsIdle = false
  #idleStepsPassed = 0
  #writerRuns = true
  #checkpointerRuns: boolean
  #failed = false
  #closing = false

  constructor(enabled: boolean, hasArchive = false) {
    this.#enabled = enabled
    this.#hasArchive = hasArchive
    this.#checkpointerRuns = enabled
  }

  /** Tells whether nothing may be sent to the writer, because of a reset. */
  get holdsWrites(): boolean {
    return this.#reset !== 'none'
  }

  /** False from the writer's failure until another runs and the database file was synced. */
  get writerRuns(): boolean {
    return this.#writerRuns
  }

  get failed(): boolean {
    return this.#failed
  }

  /** Tells whether many pages are pending, because a read prevents their copy: only requests may add to them. */
  get isBehind(): boolean {
    return this.#pendingPages >= resetAtPages
  }

  /** Tells whether no checkpoint, reset or sync runs: each of them may still report that the disk failed. */
  get isAtRest(): boolean {
    return this.#checkpoint === 'none' && this.#reset !== 'running' && this.#syncsRunning === 0
  }

  on(event: CheckpointEvent, traffic: Traffic): CheckpointAction[] {
    const actions: CheckpointAction[] = []
    this.#apply(event, traffic, actions)
    // A commit, a checkpoint or a sync at the same time would prevent the reset.
    if (this.#reset === 'due' && traffic.inFlight === 0 && this.isAtRest && !this.#failed) {
      this.#reset = 'running'
      actions.push({ do: this.#truncates ? 'truncate' : 'reset' })
    }
    return actions
  }

  #apply(event: CheckpointEvent, traffic: Traffic, actions: CheckpointAction[]): void {
    switch (event.kind) {
      case 'committed':
        if (event.walPages !== this.#walPages || event.pendingPages !== this.#pendingPages) this.#commits++
        this.#noteWal(event.walPages, event.pendingPages, actions)
        if (event.reopened) this.#sync('reopened', actions)
        if (isIdle(traffic)) this.#awaitQuiet(actions)
        this.#awaitIdle(actions)
        break
      case 'checkpointed':
        if (event.fault === 'disk') this.#fail()
        if (!this.#failed && (this.#tidying !== 'none' || this.#walPages >= resetAtPages)) {
          this.#checkpoint = 'syncing'
          this.#sync('ahead', actions)
        } else this.#endCheckpoint(traffic)
        break
      case 'reset':
        this.#reset = 'none'
        this.#pendingPages = event.pendingPages
        if (event.fault === 'disk') this.#fail()
        if (this.#truncates) this.#endTruncation(event.walPages, event.fault, actions)
        break
      case 'synced':
        this.#syncsRunning--
        if (!event.ok) this.#fail()
        this.#endSync(event.reason, traffic)
        break
      case 'quiet':
        this.#awaitsQuiet = false
        this.#tidy(traffic, actions)
        break
      case 'idle':
        this.#awaitsIdle = false
        this.#countIdle(traffic, actions)
        break
      case 'writerLost':
        this.#writerRuns = false
        if (this.#reset !== 'none') {
          this.#reset = 'none'
          this.#truncates = false
          // A forced reset that did not happen is due again with the next commit.
          this.#forceResetAtPages = walPagesMax
        }
        break
      case 'writerStarted':
        this.#sync('writer', actions)
        break
      case 'checkpointerLost':
        // Until another one runs, `walPagesMax` alone bounds the WAL.
        this.#checkpointerRuns = false
        this.#endCheckpoint(traffic)
        break
      case 'checkpointerStarted':
        this.#sync('checkpointer', actions)
        break
      case 'failed':
        this.#fail()
        break
      case 'closing':
        this.#closing = true
        break
      case 'rest':
        // After this checkpoint closing the store copies nothing, and the archive can tell whether the file has changed since.
        if (this.#hasArchive && !this.#failed) this.#startCheckpoint(actions)
        break
    }
  }

  #noteWal(walPages: number, pendingPages: number, actions: CheckpointAction[]): void {
    if (walPages < this.#walPages) this.#forceResetAtPages = walPagesMax
    this.#walPages = walPages
    this.#pendingPages = pendingPages
    if (this.#reset !== 'none' || !this.#enabled || this.#failed) return
    const wantsReset = walPages >= resetAtPages
    if (walPages >= this.#forceResetAtPages) {
      this.#reset = 'due'
      // A long read prevents the reset, however often pages are checkpointed. The next forced one comes later.
      this.#forceResetAtPages = walPages + resetAtPages
    } else if (this.#checkpoint !== 'none') {
      // The next commit decides again.
    } else if (wantsReset && pendingPages > 0 && pendingPages <= resetPendingPagesMax) {
      this.#reset = 'due'
    } else if (pendingPages >= (wantsReset ? resetPendingPagesMax : checkpointAtPages)) {
      this.#startCheckpoint(actions)
    }
  }

  #startCheckpoint(actions: CheckpointAction[]): void {
    if (!this.#checkpointerRuns) return
    this.#checkpoint = 'running'
    actions.push({ do: 'checkpoint' })
  }

  #endCheckpoint(traffic: Traffic): void {
    this.#checkpoint = 'none'
    if (this.#tidying !== 'none' && isIdle(traffic) && this.#takesWrites) {
      this.#reset = 'due'
      this.#truncates = this.#tidying === 'truncate'
    }
    this.#tidying = 'none'
  }

  #sync(reason: SyncReason, actions: CheckpointAction[]): void {
    if (!this.#enabled) this.#endSync(reason, { inFlight: 0, queued: false })
    else if (!this.#failed) {
      this.#syncsRunning++
      actions.push({ do: 'sync', reason })
    }
  }

  #endSync(reason: SyncReason, traffic: Traffic): void {
    if (reason === 'writer') this.#writerRuns = true
    else if (reason === 'checkpointer') this.#checkpointerRuns = true
    else if (reason === 'ahead' && this.#checkpoint === 'syncing') this.#endCheckpoint(traffic)
  }

  get #takesWrites(): boolean {
    return this.#writerRuns && !this.#closing && !this.#failed
  }

  #awaitQuiet(actions: CheckpointAction[]): void {
    if (!this.#enabled || !this.#takesWrites || this.#awaitsQuiet || this.#pendingPages < resetPendingPagesMax) return
    this.#awaitsQuiet = true
    this.#commitsBeforeQuiet = this.#commits
    actions.push({ do: 'awaitQuiet' })
  }

  #tidy(traffic: Traffic, actions: CheckpointAction[]): void {
    const isQuiet =
      isIdle(traffic) &&
      this.#commits === this.#commitsBeforeQuiet &&
      this.#reset === 'none' &&
      this.#checkpoint === 'none'
    if (!isQuiet) this.#awaitQuiet(actions)
    else if (this.#takesWrites && this.#checkpointerRuns) {
      this.#tidying = 'reset'
      this.#startCheckpoint(actions)
    }
  }

  #awaitIdle(actions: CheckpointAction[]): void {
    if (!this.#enabled || this.#hasArchive || !this.#takesWrites || this.#awaitsIdle || this.#walPages === 0) return
    this.#awaitsIdle = true
    actions.push({ do: 'awaitIdle' })
  }

  #countIdle(traffic: Traffic, actions: CheckpointAction[]): void {
    const wasIdle = isIdle(traffic) && this.#commits === this.#commitsBeforeIdle
    this.#commitsBeforeIdle = this.#commits
    this.#idleStepsPassed = wasIdle ? this.#idleStepsPassed + 1 : 0
    const isAtWork = this.#checkpoint !== 'none' || this.#reset !== 'none' || !this.#checkpointerRuns
    if (this.#idleStepsPassed < idleSteps || isAtWork) this.#awaitIdle(actions)
    else if (this.#takesWrites) {
      this.#idleStepsPassed = 0
      this.#tidying = 'truncate'
      this.#startCheckpoint(actions)
    }
  }

  /**
   * If a reader prevented the truncation, it is tried again after the same idle time. After a fault the next commit starts that
   * time.
   */
  #endTruncation(walPages: number, fault: CheckpointFaultKind | undefined, actions: CheckpointAction[]): void {
    this.#truncates = false
    this.#walPages = walPages
    if (fault === undefined) this.#awaitIdle(actions)
  }

  /** Notes that the process has to end. It keeps the WAL as it is until then: nothing is started or retried. */
  #fail(): void {
    if (!this.#enabled) return
    this.#failed = true
    // Writes that wait for the reset are sent to the writer, which rejects them.
    if (this.#reset === 'due') this.#reset = 'none'
  }
}

const isIdle = ({ inFlight, queued }: Traffic): boolean => inFlight === 0 && !queued
