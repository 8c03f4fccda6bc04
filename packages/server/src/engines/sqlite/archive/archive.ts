import type { Log } from '../../../core/log.ts'
import { StoreRefused } from '../../../core/store-refused.ts'
import { Thread, ThreadRefused } from '../../../core/thread.ts'
import type { ArchiveState } from '../../../store/measures.ts'
import type { ArchiveThreadOptions, EndOfStore, FromArchiveThread, ToArchiveThread } from './archive-thread.ts'
import { removeToken } from './token.ts'

/** A checkpoint does not wait longer for the archive: writes would wait for the checkpoint in the end. */
const flushMsMax = 10_000
const restartPauseMs = 1_000

type ArchiveStart = Omit<ArchiveThreadOptions, 'skipped'>

/** The serving thread's side of the archive. Once it has started nothing here throws: when the archive fails, writes go on. */
export class Archive {
  readonly #log: Log
  /** Raised when a checkpoint goes on without the archive. The thread looks at it after each read of the WAL. */
  readonly #skipped = new SharedArrayBuffer(4)
  #start: ArchiveStart | undefined
  #thread: Thread<ToArchiveThread, FromArchiveThread> | undefined
  #flushes = 0
  #waiting: { flush: number; done: () => void } | undefined
  #closed = false
  /** For metrics; undefined until the archive has started. */
  state: ArchiveState | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** Before the store is opened: takes the directory. Throws if the server must not start with it. */
  async hold(dir: string, dataDir: string): Promise<void> {
    this.#startThread()
    await this.#ask({ hold: dir, dataDir })
  }

  /**
   * Before the first checkpoint. Resolves when the archive has found out whether it continues. Throws if the server must not
   * start with it.
   */
  async start(start: ArchiveStart): Promise<void> {
    this.#start = start
    // Otherwise it is being started again.
    if (this.#thread !== undefined) await this.#open()
  }

  /**
   * Before each checkpoint. Resolves when everything that is committed is archived, or when the archive has failed. If it
   * does not answer it counts as failed, and the checkpoint goes on.
   */
  async flush(): Promise<void> {
    if (this.#thread === undefined || this.#waiting !== undefined) return this.#skip()
    const flush = ++this.#flushes
    const { promise, resolve } = Promise.withResolvers<'flushed' | 'late'>()
    this.#waiting = { flush, done: () => resolve('flushed') }
    this.#thread.post({ flush })
    const timer = setTimeout(() => resolve('late'), flushMsMax)
    const outcome = await promise
    clearTimeout(timer)
    if (outcome === 'late') this.#skip()
  }

  /** When the store is closed, or could not be opened. */
  async close(end: EndOfStore = {}): Promise<void> {
    this.#closed = true
    await this.#thread?.end(end)
  }

  /** From here on the archive has a gap, whatever becomes of this process. */
  #skip(): void {
    if (this.#start === undefined) return
    Atomics.add(new Int32Array(this.#skipped), 0, 1)
    try {
      removeToken(this.#start.dataDir)
    } catch (error) {
      this.#log('error', 'the token of the archive could not be removed', { cause: String(error) })
    }
  }

  /** A thread that is lost meanwhile is started again. */
  async #ask(message: ToArchiveThread): Promise<void> {
    try {
      await this.#thread!.open(message)
    } catch (error) {
      if (error instanceof ThreadRefused) throw new StoreRefused(error.message)
    }
  }

  #open(): Promise<void> {
    return this.#ask({ open: { ...this.#start!, skipped: this.#skipped } })
  }

  #startThread(): void {
    this.#thread = new Thread(new URL('./archive-thread.ts', import.meta.url).href, {
      message: (message) => {
        if ('state' in message) this.state = message.state
        else if ('log' in message) this.#log(...message.log)
        else this.#endWait(message.flushed)
      },
      lost: (cause) => {
        this.#log('error', 'the archive thread failed; starting another', { cause })
        this.#thread = undefined
        this.#skip()
        this.#endWait(this.#flushes)
        if (!this.#closed) setTimeout(() => void this.#restart(), restartPauseMs).unref()
      },
    })
  }

  #endWait(flush: number): void {
    if (this.#waiting?.flush !== flush) return
    const { done } = this.#waiting
    this.#waiting = undefined
    done()
  }

  async #restart(): Promise<void> {
    if (this.#closed) return
    this.#startThread()
    if (this.#start !== undefined) await this.#open()
  }
}
