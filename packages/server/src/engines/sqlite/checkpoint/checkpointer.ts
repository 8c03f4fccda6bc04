import { fdatasync, openSync } from 'node:fs'
import type { Log } from '../../../core/log.ts'
import { Thread } from '../../../core/thread.ts'
import type { CheckpointFault } from '../connection.ts'
import {
  type CheckpointEvent,
  CheckpointPolicy,
  idleMs,
  idleSteps,
  quietMs,
  type SyncReason,
  type Traffic,
} from './checkpoint-policy.ts'
import type { FromCheckpointThread, ToCheckpointThread } from './checkpoint-thread.ts'

const restartPauseMs = 1_000

interface WalPages {
  walPages: number
  pendingPages: number
}

interface CheckpointerOptions {
  path: string
  log: Log
  /** Only the owner of the store checkpoints: a failed sync is then always the owner's. */
  enabled: boolean
  /** Tests set it: see fault-point.ts. */
  faults?: string
  /** Tests set another `idleMs`. */
  idleMs?: number
  traffic: () => Traffic
  /** Resolves when every commit is archived; absent without an archive. See archive/archive.ts. */
  archiveFirst?: () => Promise<void>
  /** Lets the writer checkpoint, and make the WAL an empty file if `truncates`. Its answer comes back through `noteReset`. */
  sendReset: (truncates: boolean) => void
  onDamage: (cause: string) => void
  /** Ends the process at once: a checkpoint or a sync of the database file failed. */
  onDiskFailure: (cause: string) => void
  /** Called when a checkpoint or a sync has ended. */
  onEnd: () => void
}

/**
 * `passive`: the checkpoint thread copies pages while the writer commits. `reset`: the writer copies the rest, and its next
 * commit resets the WAL. `truncate`: the same, and the WAL is an empty file at once.
 */
type CheckpointKind = 'passive' | 'reset' | 'truncate'

/** Carries out the actions of the checkpoint policy: its thread, the syncs of the database file, the pause before a tidy-up. */
export class Checkpointer {
  readonly #options: CheckpointerOptions
  readonly #policy: CheckpointPolicy
  /**
   * The database file, open from before the first write of this process until its end. Never closed: that would drop the locks
   * that SQLite has on the file in this process.
   * Linux reports a failed write-back once to each open file description that existed when it failed, at its next sync. A
   * description opened later gets the error only if no other did. So a connection that is opened again may miss a failure. This
   * descriptor misses none. It is synced after each such opening, before the next reset: an earlier failure is reported here, a
   * later one to the new connection too.
   */
  readonly #file: number
  #thread: Thread<ToCheckpointThread, FromCheckpointThread> | undefined
  #quietTimer: Timer | undefined
  #idleTimer: Timer | undefined
  #onPinned: () => void = () => {}
  #closed = false

  constructor(options: CheckpointerOptions) {
    this.#options = options
    this.#policy = new CheckpointPolicy(options.enabled, options.archiveFirst !== undefined)
    this.#file = options.enabled ? openSync(options.path, 'r+') : -1
  }

  /** The descriptor that is never closed. The archive reads the database file through it. */
  get file(): number {
    return this.#file
  }

  /** See CheckpointPolicy. */
  get state(): Pick<CheckpointPolicy, 'holdsWrites' | 'isBehind' | 'writerRuns' | 'failed' | 'isAtRest'> {
    return this.#policy
  }

  note(event: CheckpointEvent): void {
    for (const action of this.#policy.on(event, this.#options.traffic())) {
      if (action.do === 'checkpoint') this.#beginCheckpoint('passive')
      else if (action.do === 'reset' || action.do === 'truncate') this.#beginCheckpoint(action.do)
      else if (action.do === 'sync') this.#syncFile(action.reason)
      else if (action.do === 'awaitQuiet') this.#awaitQuiet()
      else this.#awaitIdle()
    }
  }

  /** `then` is called when writes may go on. */
  noteReset(wal: WalPages, fault: CheckpointFault | undefined, then: () => void): void {
    this.#report(fault)
    const end = (): void => {
      this.note({ kind: 'reset', ...wal, fault: fault?.kind })
      then()
    }
    // A pin would keep the next commit from resetting the WAL.
    if (this.#options.archiveFirst === undefined) end()
    else void this.#pin(false).then(end)
  }

  /**
   * Every checkpoint of a running server begins here. With an archive, all frames that it may copy are archived first: once a
   * generation of the WAL is copied completely, any commit may overwrite it. Commits continue meanwhile, so the pin keeps the
   * checkpoint from copying commits after the call of `archiveFirst`. The policy waits for the checkpoint's end, so beginning
   * later is safe. The other checkpoints are SQLite's own, when the last connection to the store closes: at the start
   * (prepare-store.ts) and at the end, where it has nothing more to copy with an archive.
   */
  #beginCheckpoint(kind: CheckpointKind): void {
    const { archiveFirst, sendReset } = this.#options
    const begin = (): void => {
      // The thread may have failed while the archive was busy: the policy knows that.
      if (kind === 'passive') this.#thread?.post({ checkpoint: true })
      else sendReset(kind === 'truncate')
    }
    if (archiveFirst === undefined) begin()
    else void this.#pin(true).then(archiveFirst).then(begin)
  }

  /** Resolves at once if there is no thread to ask: then only another process could commit in between. */
  async #pin(isPinned: boolean): Promise<void> {
    const thread = this.#thread
    if (thread === undefined) return
    await new Promise<void>((resolve) => {
      this.#onPinned = resolve
      thread.post({ pin: isPinned })
    })
  }

  /** Stops the timers: a pause of writes starts nothing any more. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#quietTimer)
    clearTimeout(this.#idleTimer)
    this.note({ kind: 'closing' })
  }

  /** Call it at rest. */
  async end(): Promise<void> {
    await this.#thread?.end()
  }

  terminate(): void {
    this.#closed = true
    this.#thread?.terminate()
  }

  #report(fault: CheckpointFault | undefined): void {
    if (fault === undefined) return
    const { cause, kind } = fault
    if (kind === 'damage') this.#options.onDamage(cause)
    else if (kind === 'repeatable') this.#options.log('error', 'checkpoint failed', { cause })
    else this.#options.onDiskFailure(cause)
  }

  /** Syncs in a thread of the runtime: neither the writer nor the checkpoint thread waits for it. */
  #syncFile(reason: SyncReason): void {
    fdatasync(this.#file, (error) => {
      if (error !== null) this.#options.onDiskFailure(`sync of cubby.db: ${error.message}`)
      this.note({ kind: 'synced', reason, ok: error === null })
      this.#options.onEnd()
    })
  }

  #awaitQuiet(): void {
    this.#quietTimer = setTimeout(() => this.note({ kind: 'quiet' }), quietMs)
    this.#quietTimer.unref()
  }

  #awaitIdle(): void {
    const stepMs = (this.#options.idleMs ?? idleMs) / idleSteps
    this.#idleTimer = setTimeout(() => this.note({ kind: 'idle' }), stepMs)
    this.#idleTimer.unref()
  }

  async start(): Promise<void> {
    if (!this.#options.enabled) return
    this.#thread = new Thread(new URL('./checkpoint-thread.ts', import.meta.url).href, {
      message: (message) => {
        if ('pinned' in message) return this.#onPinned()
        this.#report(message.fault)
        this.note({ kind: 'checkpointed', fault: message.fault?.kind })
        this.#options.onEnd()
      },
      lost: (cause) => this.#onLost(cause),
    })
    const { path: open, faults } = this.#options
    await this.#thread.open({ open, faults })
  }

  #onLost(cause: string): void {
    this.#options.log('error', 'the checkpoint thread failed; starting another', { cause })
    this.#thread = undefined
    this.#onPinned()
    this.note({ kind: 'checkpointerLost' })
    this.#options.onEnd()
    if (!this.#closed) setTimeout(() => void this.#restart(), restartPauseMs).unref()
  }

  async #restart(): Promise<void> {
    if (this.#closed) return
    try {
      await this.start()
      this.note({ kind: 'checkpointerStarted' })
    } catch (error) {
      this.#options.log('error', 'the checkpoint thread could not be started', { cause: String(error) })
    }
  }
}
