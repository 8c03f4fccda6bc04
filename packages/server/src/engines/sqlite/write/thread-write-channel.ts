import { CubbyError } from '../../../core/errors.ts'
import { repeatLater } from '../../../core/hint.ts'
import type { Log } from '../../../core/log.ts'
import { type FromThread, Thread } from '../../../core/thread.ts'
import type { StoreObserver } from '../../../store/observer.ts'
import type { LogHead } from '../changes/change-log.ts'
import { Checkpointer } from '../checkpoint/checkpointer.ts'
import { Vacuumer } from '../maintenance/vacuumer.ts'
import {
  type Command,
  type CommandKind,
  type CommandOf,
  type CommandResult,
  decodeOutcomes,
  encodeGroup,
  type Outcome,
} from './command.ts'
import { PatchWeights } from './patch-weights.ts'
import type { WriteChannel, WriterLoad } from './write-channel.ts'
import { isLoad, type QueuedWrite, WriteQueue } from './write-queue.ts'
import type { CommitTimesFile, FromWriter, ToWriter } from './writer-thread.ts'

/**
 * This many requests are sent to the writer before the turn of the event loop in which they arrived ends: a turn with 64
 * puts takes milliseconds, and the writer would be idle for that long.
 */
const sendAtRequests = 8

const restartPauseMs = 1_000

/** A failure of the disk, after which this process must end: see disk-failure.ts. */
export interface DiskFailure {
  cause: string
  /**
   * True if a sync of the database file failed: then the process ends at once. Otherwise a commit failed, and its requests are
   * answered first.
   */
  atOnce: boolean
}

/** What a run that follows a write takes of a commit, in bytes. It is so much because all other writes wait for a long commit. */
const followedRunWeight = 32_768

export interface ThreadWriteChannelOptions {
  path: string
  log: Log
  /** True if this process checkpoints: see checkpointer.ts. */
  checkpoints: boolean
  /** Set with an archive: see archive/archive.ts. */
  archive?: { times: CommitTimesFile; flush: () => Promise<void> }
  /** It is called once, and has to end the process. */
  onDiskFailure: (failure: DiskFailure) => void
  /** Tests set it: see fault-point.ts. */
  faults?: string
  /** Tests set another time after which the WAL is given back, instead of `idleMs` in checkpoint-policy.ts. */
  idleMs?: number
  /** Counts for the metrics. */
  observer?: StoreObserver
}

const unavailable = (): CubbyError =>
  new CubbyError('unavailable', 'The store takes no writes just now; nothing was applied.', {
    hint: repeatLater,
  })

/**
 * The serving thread's side of the writer thread. Sends queued writes to it, at most one commit's worth at a time, and
 * resolves or rejects each with the writer's answer. Reads do not pass through here.
 */
export class ThreadWriteChannel implements WriteChannel {
  readonly #options: ThreadWriteChannelOptions
  readonly #log: Log
  readonly #queue = new WriteQueue()
  readonly #patchWeights = new PatchWeights()
  readonly #checkpointer: Checkpointer
  readonly #vacuumer: Vacuumer
  onCommit: (commands: Command[]) => void = () => {}
  onDamage: (cause: string) => void = () => {}
  #writer!: Thread<ToWriter, FromWriter>
  /** The writes that were sent to the writer and not answered yet, in the order in which they were sent. */
  #inFlight: QueuedWrite[] = []
  #weightInFlight = 0
  #walPendingPages = 0
  #acceptedThisTurn = 0
  #sendScheduled = false
  readonly #readyListeners: ((ready: boolean) => void)[] = []
  readonly #grownListeners: ((heads: LogHead[]) => void)[] = []
  #lastReady = true
  #closing: (() => void) | undefined
  #closed = false
  #diskFailed = false

  private constructor(options: ThreadWriteChannelOptions) {
    this.#options = options
    this.#log = (level, message, fields) => guard(() => options.log(level, message, fields))
    this.#checkpointer = new Checkpointer({
      path: options.path,
      log: this.#log,
      enabled: options.checkpoints,
      faults: options.faults,
      traffic: () => ({ inFlight: this.#inFlight.length, queued: !this.#queue.empty }),
      archiveFirst: options.archive?.flush,
      idleMs: options.idleMs,
      sendReset: (truncates) => {
        // A snapshot that a read has opened may need the WAL, and then the file could not be made empty. The next one does not.
        if (truncates) this.#noteCommit([])
        this.#writer.post({ checkpoint: true, truncates })
      },
      onDamage: (cause) => guard(() => this.onDamage(cause)),
      onDiskFailure: (cause) => this.#endProcess({ cause, atOnce: true }),
      onEnd: () => {
        this.#noteReady()
        this.#noteRest()
      },
    })
    this.#vacuumer = new Vacuumer({
      step: (step) => this.submit({ kind: 'vacuum', ...step }),
      mayStep: () => {
        const { holdsWrites, isBehind } = this.#checkpointer.state
        return this.#isIdle && !holdsWrites && !isBehind
      },
    })
    if (!options.checkpoints) this.#vacuumer.end()
  }

  static async open(options: ThreadWriteChannelOptions): Promise<ThreadWriteChannel> {
    const channel = new ThreadWriteChannel(options)
    try {
      await Promise.all([channel.#startWriter(), channel.#checkpointer.start()])
    } catch (error) {
      channel.#closed = true
      channel.#writer.terminate()
      channel.#checkpointer.terminate()
      throw error
    }
    channel.#vacuumer.noteCommit()
    return channel
  }

  /** A descriptor of the database file that is never closed. */
  get databaseFile(): number {
    return this.#checkpointer.file
  }

  get ready(): boolean {
    const { writerRuns, failed } = this.#checkpointer.state
    return writerRuns && !failed && !this.#closed
  }

  get load(): WriterLoad {
    return {
      queuedWrites: this.#queue.size,
      queuedWriteBytes: this.#queue.bytes,
      writesInFlight: this.#inFlight.length,
      walPendingPages: this.#walPendingPages,
    }
  }

  onReadyChange(listener: (ready: boolean) => void): void {
    this.#readyListeners.push(listener)
  }

  onGrown(listener: (heads: LogHead[]) => void): void {
    this.#grownListeners.push(listener)
  }

  #noteReady(): void {
    const { ready } = this
    if (ready === this.#lastReady || this.#closed) return
    this.#lastReady = ready
    for (const listener of this.#readyListeners) guard(() => listener(ready))
  }

  get #isIdle(): boolean {
    return this.#inFlight.length === 0 && this.#queue.empty
  }

  submit<K extends CommandKind>(command: CommandOf<K>, bytes = 0, runs = 0): Promise<CommandResult<K>> {
    return new Promise((resolve, reject) => {
      if (!this.ready) throw unavailable()
      const weight = bytes + this.#patchWeights.of(command as Command) + runs * followedRunWeight
      const settle = { resolve: resolve as (value: unknown) => void, reject }
      this.#queue.push({ command: command as Command, bytes, weight, ...settle })
      if (++this.#acceptedThisTurn >= sendAtRequests) this.#send()
      else this.#scheduleSend()
    })
  }

  get #isAtRest(): boolean {
    return this.#isIdle && this.#checkpointer.state.isAtRest
  }

  /** Commits the accepted writes, waits for the result of every checkpoint and sync, then ends both threads. */
  async close(): Promise<void> {
    this.#closed = true
    this.#vacuumer.end()
    this.#checkpointer.close()
    await this.#rest()
    // A snapshot that a read has opened may be older than a commit of another process, which could not be copied then.
    this.#noteCommit([])
    this.#checkpointer.note({ kind: 'rest' })
    await this.#rest()
    await Promise.all([this.#writer.end(), this.#checkpointer.end()])
  }

  /** Resolves when nothing runs. */
  async #rest(): Promise<void> {
    if (!this.#isAtRest) {
      await new Promise<void>((done) => {
        this.#closing = done
      })
    }
    // The process is about to end, and closes nothing.
    if (this.#checkpointer.state.failed) await new Promise(() => {})
  }

  /** Sends what arrived in this turn of the event loop when the turn ends, unless it was sent before. */
  #scheduleSend(): void {
    if (this.#sendScheduled) return
    this.#sendScheduled = true
    setImmediate(() => {
      this.#sendScheduled = false
      this.#send()
    })
  }

  /** Does not wait for the commit in flight: the writer has the next group when that commit ends. */
  #send(): void {
    this.#acceptedThisTurn = 0
    const { writerRuns, holdsWrites } = this.#checkpointer.state
    if (!writerRuns || holdsWrites || this.#queue.empty) return
    this.#post(this.#queue.take({ requests: this.#inFlight.length, weight: this.#weightInFlight }))
    // Whoever else writes waits for one commit of a load at most.
    if (this.#queue.hasLoad && !this.#inFlight.some(isLoad)) this.#post([this.#queue.takeLoad()!])
  }

  #post(group: QueuedWrite[]): void {
    if (group.length === 0) return
    for (const write of group) {
      this.#inFlight.push(write)
      this.#weightInFlight += write.weight
    }
    this.#writer.post({ group: encodeGroup(group.map((write) => write.command)) })
  }

  #onMessage(message: Exclude<FromWriter, FromThread>): void {
    if ('outcomes' in message) {
      const { walPages, pendingPages, reopened, failure } = message
      const settled = this.#takeSettled(decodeOutcomes(message.outcomes))
      this.#walPendingPages = pendingPages
      if (message.commitMs !== undefined) this.#options.observer?.committed(settled.length, message.commitMs)
      if (message.added > 0) this.#options.observer?.runs('added', message.added)
      this.#noteCommit(settled.map(({ write }) => write.command))
      // Nothing may be started after a commit whose sync failed.
      if (failure !== undefined) this.#checkpointer.note({ kind: 'failed' })
      this.#checkpointer.note({ kind: 'committed', walPages, pendingPages, reopened })
      if (settled.some(({ write }) => write.command.kind !== 'vacuum')) this.#vacuumer.noteCommit()
      // The next group is sent before these responses are written.
      this.#send()
      this.#settle(settled)
      const { grown } = message
      if (grown !== undefined) for (const listener of this.#grownListeners) guard(() => listener(grown))
      this.#noteRest()
      if (failure !== undefined) this.#endProcess({ cause: failure, atOnce: false })
    } else {
      const { walPages, pendingPages, fault } = message
      this.#walPendingPages = pendingPages
      this.#checkpointer.noteReset({ walPages, pendingPages }, fault, () => {
        // Ends a snapshot that a read has opened since: the next one does not need the WAL, so the WAL can be reset.
        this.#noteCommit([])
        this.#send()
        this.#noteRest()
      })
    }
  }

  #takeSettled(outcomes: Outcome[]): Settled[] {
    return this.#inFlight.splice(0, outcomes.length).map((write, i) => {
      this.#weightInFlight -= write.weight
      this.#patchWeights.note(write.command, outcomes[i]!)
      return { write, outcome: outcomes[i]! }
    })
  }

  #settle(settled: Settled[]): void {
    let logged: string | undefined
    for (const { write, outcome } of settled) {
      if ('value' in outcome) {
        write.resolve(outcome.value)
        continue
      }
      const { code, message, field, hint, cause } = outcome.failure
      // Each cause is logged once per commit: on a full disk every request of every commit fails with the same one.
      if (code === 'store_damaged') {
        // Without a cause, only the one record that a condition was for is damaged: the store itself is not.
        if (cause !== undefined) guard(() => this.onDamage(cause))
      } else if (cause !== logged) this.#log('error', 'write failed', { code, cause })
      logged = cause
      write.reject(new CubbyError(code, message, { field, hint, cause }))
    }
  }

  #noteRest(): void {
    if (this.#isAtRest) this.#closing?.()
  }

  /** Requests of a commit are answered even if the callback throws. */
  #noteCommit(commands: Command[]): void {
    try {
      this.onCommit(commands)
    } catch (error) {
      this.#log('error', 'the view of the store could not be renewed', { cause: String(error) })
    }
  }

  /** Ends the process, which keeps the WAL as it is until then. */
  #endProcess(failure: DiskFailure): void {
    // A guest's command ends by itself with the response that it got. Its server, if there is one, meets the same failure.
    if (this.#diskFailed || !this.#options.checkpoints) return
    this.#diskFailed = true
    this.#checkpointer.note({ kind: 'failed' })
    this.#options.onDiskFailure(failure)
  }

  async #startWriter(): Promise<void> {
    let isOpen = false
    const writer = new Thread<ToWriter, FromWriter>(new URL('./writer-thread.ts', import.meta.url).href, {
      message: (message) => this.#onMessage(message),
      lost: (cause) => {
        if (isOpen) this.#onWriterLost(cause)
      },
    })
    this.#writer = writer
    const { path: open, faults, observer, archive } = this.#options
    try {
      await writer.open({ open, faults, times: archive?.times, timesCommits: observer !== undefined })
    } catch (error) {
      writer.terminate()
      throw error
    }
    isOpen = true
  }

  /**
   * Called when the thread has failed. Writes in flight may or may not be in the store; queued ones are not. No write is
   * accepted until another thread runs.
   */
  #onWriterLost(cause: string): void {
    if (!this.#checkpointer.state.writerRuns) return
    this.#log('error', 'the writer thread failed; starting another', { cause })
    const unknown = new CubbyError(
      'outcome_unknown',
      'The writer failed; the write may or may not have been applied.',
      {
        hint: 'Read the record before repeating the request.',
      },
    )
    for (const write of this.#inFlight) write.reject(unknown)
    this.#inFlight = []
    this.#weightInFlight = 0
    for (const write of this.#queue.takeAll()) write.reject(unavailable())
    this.#checkpointer.note({ kind: 'writerLost' })
    this.#noteReady()
    this.#noteRest()
    void this.#restartWriter()
  }

  async #restartWriter(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#startWriter()
        this.#checkpointer.note({ kind: 'writerStarted' })
        return
      } catch (error) {
        this.#log('error', 'the writer thread could not be started', { cause: String(error) })
        await Bun.sleep(restartPauseMs)
      }
    }
  }
}

interface Settled {
  write: QueuedWrite
  outcome: Outcome
}

/** A log that cannot be written must not prevent an answer. */
const guard = (call: () => void): void => {
  try {
    call()
  } catch {
    // There is no other place to report it.
  }
}
