import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Log } from '../../../core/log.ts'
import { StoreRefused } from '../../../core/store-refused.ts'
import { Thread, ThreadRefused } from '../../../core/thread.ts'
import type { ArchiveState } from '../../../store/measures.ts'
import { Connection } from '../connection.ts'
import { faultPoint } from '../disk/fault-point.ts'
import type { ArchiveSettings } from '../settings.ts'
import type { ThreadWriteChannelOptions } from '../write/thread-write-channel.ts'
import { storeIdOf } from './archive-directory.ts'
import type { ArchiveThreadOptions, FromArchiveThread, ToArchiveThread } from './archive-thread.ts'
import { threadClock } from './clock-watch.ts'
import { removeTimes, timesName } from './commit-times.ts'
import { fingerprintOf, hasToken, removeToken } from './token.ts'

/** A checkpoint waits at most this long for the archive, because writes wait for a late checkpoint. */
const flushMsMax = 10_000
const restartPauseMs = 1_000

interface ArchiveOptions {
  dataDir: string
  settings: ArchiveSettings
  log: Log
  /** Tests set it: see fault-point.ts. */
  faults: string | undefined
}

/**
 * The serving thread's side of the archive, from before the owner opens the store until after it has closed it. Once `start`
 * has resolved nothing here throws: when the archive fails, writes go on.
 */
export class Archive {
  readonly #options: ArchiveOptions
  readonly #databasePath: string
  readonly #timesName: string
  /** Raised when a checkpoint goes on without the archive. The thread compares it after each read of the WAL. */
  readonly #skipped = new SharedArrayBuffer(4)
  #start: ArchiveThreadOptions | undefined
  #thread: Thread<ToArchiveThread, FromArchiveThread> | undefined
  #keeper: Connection | undefined
  #flushes = 0
  #waiting: { flush: number; done: () => void } | undefined
  #closed = false
  /** The numbers for the metrics; undefined until the archive has started. */
  state: ArchiveState | undefined

  private constructor(options: ArchiveOptions) {
    this.#options = options
    this.#databasePath = join(options.dataDir, 'cubby.db')
    this.#timesName = timesName(threadClock(options.settings.clock)())
  }

  /**
   * Takes the directory of the archive, before the store is opened. Throws if the server must not start with it. `settings` is
   * undefined without --archive: then it only removes files that would let a later start continue a run with missing commits.
   */
  static async prepare({
    settings,
    ...others
  }: Omit<ArchiveOptions, 'settings'> & { settings: ArchiveSettings | undefined }): Promise<Archive | undefined> {
    const { dataDir, log } = others
    if (settings !== undefined) {
      const dir = resolve(settings.dir)
      const archive = new Archive({ settings: { ...settings, dir }, ...others })
      try {
        archive.#startThread()
        await archive.#ask({ hold: dir, dataDir })
      } catch (error) {
        await archive.#end({})
        throw error
      }
      return archive
    }
    if (hasToken(dataDir)) {
      removeToken(dataDir)
      log('warn', 'the store had an archive, and is served without --archive: the archive has a gap from here on')
    }
    removeTimes(dataDir)
    return undefined
  }

  /** Keeps the WAL while the start opens and closes connections: the last one to close would checkpoint and delete it. */
  keepWal(): void {
    const isThere = (statSync(this.#databasePath, { throwIfNoEntry: false })?.size ?? 0) > 0
    if (isThere) this.#keeper = new Connection(this.#databasePath, 256)
  }

  letGoOfWal(): void {
    this.#keeper?.close()
    this.#keeper = undefined
  }

  get hook(): ThreadWriteChannelOptions['archive'] {
    const { dataDir, settings } = this.#options
    return { times: { path: join(dataDir, this.#timesName), clock: settings.clock }, flush: () => this.#flush() }
  }

  /**
   * Call it before the first checkpoint. Resolves when the archive has found out whether it continues. Throws if the server
   * must not start with it. `databaseFile`: a descriptor of the database file that is never closed.
   */
  async start(databaseFile: number): Promise<void> {
    const { dataDir, settings } = this.#options
    const db = new Connection(this.#databasePath, 256)
    let store: string
    try {
      store = storeIdOf(db)
    } finally {
      db.close()
    }
    const [timesName, skipped] = [this.#timesName, this.#skipped]
    this.#start = { ...settings, store, dataDir, timesName, databaseFile, skipped }
    // If there is no thread, another one is being started, and it will open the archive.
    if (this.#thread !== undefined) await this.#ask({ open: this.#start })
  }

  /**
   * Runs before each checkpoint. Resolves when everything that is committed is archived, or when the archive has failed. If the
   * thread does not answer, that counts as a failure, and the checkpoint goes on.
   */
  async #flush(): Promise<void> {
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

  /**
   * Calls `closeStore`, which closes the last connection of this process. By then everything is archived and copied into
   * the database file, so closing does not change that file. Its fingerprint, taken before, shows at the next start whether
   * a command has changed the file since.
   */
  async close(closeStore: () => void): Promise<void> {
    const { faults } = this.#options
    const closed = statSync(this.#databasePath, { throwIfNoEntry: false }) && fingerprintOf(this.#databasePath)
    closeStore()
    if (faults !== undefined) faultPoint(faults, 'closed')
    await this.#end({ closed })
  }

  /** Ends the archive of a store that could not be opened. */
  async abandon(): Promise<void> {
    this.letGoOfWal()
    await this.#end({})
  }

  async #end(end: { closed?: string }): Promise<void> {
    this.#closed = true
    await this.#thread?.end(end)
  }

  /** Notes that the archive has a gap from here on. The note remains if this process is killed. */
  #skip(): void {
    if (this.#start === undefined) return
    Atomics.add(new Int32Array(this.#skipped), 0, 1)
    try {
      removeToken(this.#options.dataDir)
    } catch (error) {
      this.#options.log('error', 'the token of the archive could not be removed', { cause: String(error) })
    }
  }

  /** Does not throw if the thread is lost meanwhile: another one is started. */
  async #ask(message: ToArchiveThread): Promise<void> {
    try {
      await this.#thread!.open(message)
    } catch (error) {
      if (error instanceof ThreadRefused) throw new StoreRefused(error.message)
    }
  }

  #startThread(): void {
    const { log } = this.#options
    this.#thread = new Thread(new URL('./archive-thread.ts', import.meta.url).href, {
      message: (message) => {
        if ('state' in message) this.state = message.state
        else if ('log' in message) log(...message.log)
        else this.#endWait(message.flushed)
      },
      lost: (cause) => {
        log('error', 'the archive thread failed; starting another', { cause })
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
    if (this.#start !== undefined) await this.#ask({ open: this.#start })
  }
}
