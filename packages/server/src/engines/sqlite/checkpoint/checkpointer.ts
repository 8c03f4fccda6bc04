import { fdatasync, openSync } from 'node:fs'
import type { Log } from '../../../core/log.ts'
import type { CheckpointFault } from '../connection.ts'
import { endThread } from '../end-thread.ts'
import { type CheckpointEvent, CheckpointPolicy, quietMs, type SyncReason, type Traffic } from './checkpoint-policy.ts'
import type { FromCheckpointThread, ToCheckpointThread } from './checkpoint-thread.ts'

const restartPauseMs = 1_000

export interface CheckpointerOptions {
  path: string
  log: Log
  /** Only the owner of the store checkpoints: a failed sync is then always the owner's. */
  enabled: boolean
  /** For tests: see fault-point.ts. */
  faults?: string
  traffic: () => Traffic
  /** Lets the writer checkpoint. Its answer comes back through `noteReset`. */
  sendReset: () => void
  onDamage: (cause: string) => void
  /** A checkpoint or a sync of the database file failed: the process has to end at once. */
  onDiskFailure: (cause: string) => void
  /** Called when a checkpoint or a sync has ended. */
  onEnd: () => void
}

/** Carries out what the checkpoint policy decides: its thread, the syncs of the database file, the pause before a tidy-up. */
export class Checkpointer {
  readonly #options: CheckpointerOptions
  readonly #policy: CheckpointPolicy
  /**
   * The database file, open from before the first write of this process until its end. Never closed: that would drop
   * the locks that SQLite has on the file in this process.
   *
   * Linux reports a failed write-back once to each open file description that existed when it failed, at its next sync.
   * A description opened later gets the error only if no other did. So a connection that is opened again may miss a failure. This
   * descriptor misses none. It is synced after each such opening, before the next reset: an earlier failure is reported
   * here, a later one to the new connection too.
   */
  readonly #file: number
  #thread: Worker | undefined
  #quietTimer: Timer | undefined
  #closed = false

  constructor(options: CheckpointerOptions) {
    this.#options = options
    this.#policy = new CheckpointPolicy(options.enabled)
    this.#file = options.enabled ? openSync(options.path, 'r+') : -1
  }

  /** See CheckpointPolicy. */
  get state(): Pick<CheckpointPolicy, 'holdsWrites' | 'writerRuns' | 'failed' | 'isAtRest'> {
    return this.#policy
  }

  note(event: CheckpointEvent): void {
    for (const action of this.#policy.on(event, this.#options.traffic())) {
      if (action.do === 'checkpoint') this.#toThread({ checkpoint: true })
      else if (action.do === 'sync') this.#syncFile(action.reason)
      else if (action.do === 'reset') this.#options.sendReset()
      else this.#awaitQuiet()
    }
  }

  noteReset(pendingPages: number, fault: CheckpointFault | undefined): void {
    this.#report(fault)
    this.note({ kind: 'reset', pendingPages, fault: fault?.kind })
  }

  /** From here on, a pause of writes starts nothing. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#quietTimer)
    this.note({ kind: 'closing' })
  }

  /** To be called at rest. */
  async end(): Promise<void> {
    if (this.#thread !== undefined) await endThread(this.#thread)
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

  /** From a thread of the runtime: neither the writer nor the checkpoint thread waits for it. */
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

  #toThread(message: ToCheckpointThread): void {
    this.#thread!.postMessage(message)
  }

  async start(): Promise<void> {
    if (!this.#options.enabled) return
    const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url).href)
    this.#thread = thread
    await new Promise<void>((resolve, reject) => {
      thread.onmessage = (event: MessageEvent<FromCheckpointThread>) => {
        const message = event.data
        if ('opened' in message) resolve()
        if (!('checkpointed' in message)) return
        this.#report(message.fault)
        this.note({ kind: 'checkpointed', fault: message.fault?.kind })
        this.#options.onEnd()
      }
      thread.onerror = (event: ErrorEvent) => {
        thread.terminate()
        this.#options.log('error', 'the checkpoint thread failed; starting another', { cause: event.message })
        reject(new Error(event.message))
        this.note({ kind: 'checkpointerLost' })
        this.#options.onEnd()
        if (!this.#closed) setTimeout(() => void this.#restart(), restartPauseMs).unref()
      }
      const { path: open, faults } = this.#options
      this.#toThread({ open, faults })
    })
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
