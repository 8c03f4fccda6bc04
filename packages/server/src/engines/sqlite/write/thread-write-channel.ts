import { fdatasync, openSync } from 'node:fs'
import { CubbyError } from '../../../core/errors.ts'
import { repeatLater } from '../../../core/hint.ts'
import type { Log } from '../../../core/log.ts'
import type { FromCheckpointer, ToCheckpointer } from '../checkpoint/checkpoint-thread.ts'
import type { CheckpointFault } from '../connection.ts'
import { type Command, type CommandResults, decodeOutcomes, encodeGroup, type Outcome } from './command.ts'
import type { WriteChannel } from './write-channel.ts'
import { upkeepLine, type Waiting, WriteQueue } from './write-queue.ts'
import type { FromWriter, ToWriter } from './writer-thread.ts'

// When the log is copied into the database file. See docs/operating.md for the measurements behind the numbers.
/** The second thread copies once this many pages wait for it. */
const copyAtPages = 16_000
/** Past this the log is to start over: the second thread goes on copying until little is left, … */
const restartAtPages = 32_000
/** … and then, with nothing under way, the writer copies that rest itself: the only part for which commits wait. */
const restPagesMax = 1_000
/** Past this commits wait for both, however much is left: the bound of the log, but for what is under way. */
const logPagesMax = 64_000
/** After so long without a commit more than a rest is copied too, and the log starts over: reads are faster without one. */
const quietMs = 100

/**
 * So many requests leave for the writer before the turn that they arrived in is over: a turn with 64 puts takes
 * milliseconds, in which the writer would have nothing to do.
 */
const handOverRequests = 8

const restartPauseMs = 1_000
const endMsMax = 2_000

const nothing = { requests: 0, bytes: 0 }

/** What the disk did, after which this process must not go on: see disk-failure.ts. */
export interface DiskFailure {
  cause: string
  /** A sync of the database file failed: end at once. Otherwise a commit did, whose requests are to be answered. */
  atOnce: boolean
}

export interface ThreadWriteChannelOptions {
  path: string
  log: Log
  /** Whether this process checkpoints. Only the owner does: a failed sync is then always the owner's. */
  checkpoints: boolean
  /** Has to end the process. Called once. */
  onDiskFailure: (failure: DiskFailure) => void
  /** For tests: see fault-point.ts. */
  faults?: string
}

const unavailable = (): CubbyError =>
  new CubbyError('unavailable', 'The store takes no writes just now; nothing was applied.', {
    hint: repeatLater,
  })

/**
 * The serving thread's end of the writer: hands over what waits, a commit's worth at a time, and decides when the
 * log is copied. A read never passes through here.
 */
export class ThreadWriteChannel implements WriteChannel {
  readonly #options: ThreadWriteChannelOptions
  readonly #log: Log
  readonly #queue = new WriteQueue()
  /**
   * The database file, open from before the first write of this process until its end. Never closed: that would drop
   * the locks that SQLite has on the file in this process.
   *
   * Linux reports a failed write-back once to each open file description that existed when it failed, at its next sync,
   * and to one opened later only if nobody was told before. So a connection that is opened again may miss a failure. This
   * descriptor misses none, and it is synced after each such opening, before the next checkpoint: what failed earlier
   * shows here, what fails later shows to the new connection too.
   */
  readonly #file: number
  onCommit: (commands: Command[]) => void = () => {}
  onDamage: (cause: string) => void = () => {}
  #writer!: Worker
  #checkpointer: Worker | undefined
  /** Handed over and not yet answered, in that order. */
  #underWay: Waiting[] = []
  #underWayBytes = 0
  #gathered = 0
  #scheduled = false
  /** Whether the second thread runs. */
  #canCopy = false
  #copying = false
  /** Syncs of the database file that run. No checkpoint of the writer starts meanwhile. */
  #syncs = 0
  /** Of the log: nothing is handed over while it is due, nothing is under way while it is done. */
  #restart: 'no' | 'due' | 'under way' = 'no'
  #logPages = 0
  /** Of these, not yet copied. */
  #pendingPages = 0
  #forceAtPages = logPagesMax
  #commits = 0
  #quietTimer: Timer | undefined
  #tidying = false
  #closing: (() => void) | undefined
  #closed = false
  #lost = false
  #failed = false

  private constructor(options: ThreadWriteChannelOptions) {
    this.#options = options
    this.#log = (level, message, fields) => guard(() => options.log(level, message, fields))
    this.#file = options.checkpoints ? openSync(options.path, 'r+') : -1
  }

  static async open(options: ThreadWriteChannelOptions): Promise<ThreadWriteChannel> {
    const port = new ThreadWriteChannel(options)
    try {
      await Promise.all([port.#startWriter(), options.checkpoints && port.#startCheckpointer()])
      port.#canCopy = options.checkpoints
    } catch (error) {
      port.#closed = true
      port.#writer.terminate()
      port.#checkpointer?.terminate()
      throw error
    }
    return port
  }

  /** Whether writes are taken. */
  get ready(): boolean {
    return !this.#lost && !this.#closed && !this.#failed
  }

  get #isIdle(): boolean {
    return this.#underWay.length === 0 && this.#queue.empty
  }

  submit<K extends Command['kind']>(
    orgId: number,
    bytes: number,
    command: Extract<Command, { kind: K }>,
  ): Promise<CommandResults[K]> {
    return new Promise((resolve, reject) => {
      if (!this.ready) throw unavailable()
      this.#queue.push(orgId, { command, bytes, resolve: resolve as (value: unknown) => void, reject })
      if (++this.#gathered >= handOverRequests) this.#handOver()
      else this.#schedule()
    })
  }

  submitUpkeep<K extends Command['kind']>(command: Extract<Command, { kind: K }>): Promise<CommandResults[K]> {
    return this.submit(upkeepLine, 0, command)
  }

  /** Whether no commit, checkpoint or sync runs or waits: each of them may still tell that the disk failed. */
  get #isAtRest(): boolean {
    return this.#isIdle && !this.#copying && this.#restart !== 'under way' && this.#syncs === 0
  }

  /** Commits what was accepted and hears how every checkpoint and sync ended, then ends both threads. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#quietTimer)
    if (!this.#isAtRest) {
      await new Promise<void>((done) => {
        this.#closing = done
      })
    }
    // The process is about to end and closes nothing.
    if (this.#failed) await new Promise(() => {})
    await Promise.all([endThread(this.#writer), this.#checkpointer && endThread(this.#checkpointer)])
  }

  /** What arrived in one turn of the event loop leaves when the turn is over, if it has not left before. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#handOver()
    })
  }

  /** While the writer commits, what comes next is on its way to it already. */
  #handOver(): void {
    this.#gathered = 0
    this.#sendRestart()
    if (this.#lost || this.#restart !== 'no' || this.#queue.empty) return
    const group = this.#queue.take({ requests: this.#underWay.length, bytes: this.#underWayBytes })
    if (group.length === 0) return
    for (const waiting of group) {
      this.#underWay.push(waiting)
      this.#underWayBytes += waiting.bytes
    }
    this.#toWriter({ group: encodeGroup(group.map((waiting) => waiting.command)) })
  }

  #toWriter(message: ToWriter): void {
    this.#writer.postMessage(message)
  }

  #settle(outcomes: Outcome[]): void {
    this.#commits++
    const settled = this.#underWay.splice(0, outcomes.length)
    for (const waiting of settled) this.#underWayBytes -= waiting.bytes
    this.#noteCommit(settled.map((waiting) => waiting.command))
    // What waits leaves before these answers are written.
    this.#handOver()
    let logged: string | undefined
    for (let i = 0; i < settled.length; i++) {
      const outcome = outcomes[i]!
      if ('value' in outcome) settled[i]!.resolve(outcome.value)
      else {
        const { code, message, hint, cause } = outcome.failure
        // Once a commit: on a full disk every request of every commit fails alike.
        if (code === 'store_damaged') guard(() => this.onDamage(cause!))
        else if (cause !== logged) this.#log('error', 'write failed', { code, cause })
        logged = cause
        settled[i]!.reject(new CubbyError(code, message, { hint, cause }))
      }
    }
    this.#noteRest()
    if (this.#isIdle) this.#awaitQuiet()
  }

  #noteRest(): void {
    if (this.#isAtRest) this.#closing?.()
  }

  /** What was committed is answered whatever the callback throws. */
  #noteCommit(commands: Command[]): void {
    try {
      this.onCommit(commands)
    } catch (error) {
      this.#log('error', 'the view of the store could not be renewed', { cause: String(error) })
    }
  }

  /** The process has to end, and keeps the WAL as it is until then: no checkpoint, nothing closed. */
  #fail(failure: DiskFailure): void {
    // A guest's command ends by itself with the answer that it got. Its server meets the same failure, if there is one.
    if (this.#failed || !this.#options.checkpoints) return
    this.#failed = true
    this.#options.onDiskFailure(failure)
  }

  #onCheckpointFault({ cause, isRepeatable, isDamage }: CheckpointFault): void {
    if (isDamage) guard(() => this.onDamage(cause))
    else if (isRepeatable) this.#log('error', 'checkpoint failed', { cause })
    else this.#fail({ cause, atOnce: true })
  }

  #onLogState(log: number, pending: number): void {
    if (log < this.#logPages) this.#forceAtPages = logPagesMax
    this.#logPages = log
    this.#pendingPages = pending
    const restart = log >= restartAtPages
    if (this.#restart !== 'no' || !this.#options.checkpoints || this.#failed) return
    if (log >= this.#forceAtPages) {
      this.#restart = 'due'
      // A long read keeps the log from starting over, however often it is copied: the next try comes later.
      this.#forceAtPages = log + restartAtPages
    } else if (this.#copying) {
      // It is at it.
    } else if (restart && pending > 0 && pending <= restPagesMax) {
      this.#restart = 'due'
    } else if (this.#canCopy && pending >= (restart ? restPagesMax : copyAtPages)) {
      this.#copy()
    }
  }

  #copy(): void {
    this.#copying = true
    this.#checkpointer!.postMessage({ copy: true } satisfies ToCheckpointer)
  }

  #awaitQuiet(): void {
    if (!this.ready || this.#quietTimer !== undefined || this.#pendingPages < restPagesMax) return
    const commits = this.#commits
    this.#quietTimer = setTimeout(() => {
      this.#quietTimer = undefined
      const isQuiet = this.#isIdle && this.#commits === commits && this.#restart === 'no' && !this.#copying
      if (!isQuiet) this.#awaitQuiet()
      else if (this.#canCopy) {
        this.#tidying = true
        this.#copy()
      }
    }, quietMs)
    this.#quietTimer.unref()
  }

  /** Waits for what is under way: a commit or a copy beside it would keep the log from starting over. */
  #sendRestart(): void {
    if (this.#restart !== 'due' || this.#underWay.length > 0 || this.#copying || this.#syncs > 0 || this.#failed) return
    this.#restart = 'under way'
    this.#toWriter({ checkpoint: true })
  }

  /**
   * SQLite syncs the database file only with the copy that empties the log, and all commits would wait for all that
   * was copied since. So it is synced ahead, from no thread of ours, and SQLite's own sync finds little left to do.
   */
  #syncFile(then: () => void): void {
    if (this.#file < 0) {
      then()
      return
    }
    this.#syncs++
    fdatasync(this.#file, (error) => {
      this.#syncs--
      if (error !== null) this.#fail({ cause: `sync of cubby.db: ${error.message}`, atOnce: true })
      else then()
      this.#noteRest()
    })
  }

  #endCopy(): void {
    this.#copying = false
    if (this.#tidying && this.#isIdle && this.ready) this.#restart = 'due'
    this.#tidying = false
    this.#sendRestart()
    this.#noteRest()
  }

  async #startWriter(): Promise<void> {
    const writer = new Worker(new URL('./writer-thread.ts', import.meta.url).href)
    this.#writer = writer
    try {
      await new Promise<void>((resolve, reject) => {
        writer.onmessage = (event: MessageEvent<FromWriter>) => {
          const message = event.data
          if ('outcomes' in message) {
            this.#onLogState(message.log, message.pending)
            if (message.reopened) this.#syncFile(() => this.#sendRestart())
            this.#settle(decodeOutcomes(message.outcomes))
            if (message.failure !== undefined) this.#fail({ cause: message.failure, atOnce: false })
          } else if ('checkpointed' in message) {
            this.#restart = 'no'
            this.#pendingPages = message.pending
            if (message.fault !== undefined) this.#onCheckpointFault(message.fault)
            // A view of the log that was opened meanwhile ends: the next does without the log, which can then start over.
            this.#noteCommit([])
            this.#handOver()
            this.#noteRest()
          } else if ('refused' in message) reject(new Error(message.refused))
          else if ('opened' in message) {
            writer.onerror = (event: ErrorEvent) => this.#onWriterLost(event.message)
            resolve()
          }
        }
        writer.onerror = (event: ErrorEvent) => reject(new Error(event.message))
        this.#toWriter({ open: this.#options.path, faults: this.#options.faults })
      })
    } catch (error) {
      writer.terminate()
      throw error
    }
  }

  /** The thread died: what it had may or may not be in the store, what waits is not. Until another runs, nothing is taken. */
  #onWriterLost(cause: string): void {
    if (this.#lost) return
    this.#lost = true
    this.#writer.terminate()
    this.#log('error', 'the writer thread failed; starting another', { cause })
    const unknown = new CubbyError(
      'outcome_unknown',
      'The writer failed; the write may or may not have been applied.',
      {
        hint: 'Read the record before repeating the request.',
      },
    )
    for (const waiting of this.#underWay) waiting.reject(unknown)
    this.#underWay = []
    this.#underWayBytes = 0
    this.#restart = 'no'
    while (!this.#queue.empty) for (const waiting of this.#queue.take(nothing)) waiting.reject(unavailable())
    this.#noteRest()
    void this.#restartWriter()
  }

  async #restartWriter(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#startWriter()
        this.#syncFile(() => {
          this.#lost = false
        })
        return
      } catch (error) {
        this.#log('error', 'the writer thread could not be started', { cause: String(error) })
        await Bun.sleep(restartPauseMs)
      }
    }
  }

  /** Until it runs again, `logPagesMax` alone bounds the log. */
  async #restartCheckpointer(): Promise<void> {
    try {
      await this.#startCheckpointer()
      this.#syncFile(() => {
        this.#canCopy = true
      })
    } catch (error) {
      this.#log('error', 'the checkpoint thread could not be started', { cause: String(error) })
    }
  }

  async #startCheckpointer(): Promise<void> {
    const checkpointer = new Worker(new URL('../checkpoint/checkpoint-thread.ts', import.meta.url).href)
    this.#checkpointer = checkpointer
    await new Promise<void>((resolve, reject) => {
      checkpointer.onmessage = (event: MessageEvent<FromCheckpointer>) => {
        const message = event.data
        if ('opened' in message) resolve()
        if (!('copied' in message)) return
        if (message.fault !== undefined) this.#onCheckpointFault(message.fault)
        if (this.#tidying || this.#logPages >= restartAtPages) this.#syncFile(() => this.#endCopy())
        else this.#endCopy()
      }
      checkpointer.onerror = (event: ErrorEvent) => {
        checkpointer.terminate()
        this.#log('error', 'the checkpoint thread failed; starting another', { cause: event.message })
        reject(new Error(event.message))
        this.#canCopy = false
        this.#endCopy()
        if (!this.#closed) setTimeout(() => void this.#restartCheckpointer(), restartPauseMs).unref()
      }
      const { path: open, faults } = this.#options
      checkpointer.postMessage({ open, faults } satisfies ToCheckpointer)
    })
  }
}

/** A log that cannot be written must not keep a request from its answer. */
const guard = (call: () => void): void => {
  try {
    call()
  } catch {
    // There is nowhere left to say so.
  }
}

/** Asks the thread to close its connection and ends it; one that does not answer is ended all the same. */
const endThread = (thread: Worker): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      thread.terminate()
      resolve()
    }
    const timer = setTimeout(end, endMsMax)
    thread.onmessage = (event: MessageEvent<object>) => {
      if ('closed' in event.data) end()
    }
    thread.onerror = end
    thread.postMessage({ close: true })
  })
