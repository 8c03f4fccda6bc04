import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Log } from '../../../core/log.ts'
import type { ArchiveState } from '../../../store/measures.ts'
import { Connection } from '../connection.ts'
import { faultPoint } from '../disk/fault-point.ts'
import type { ArchiveSettings } from '../settings.ts'
import type { ThreadWriteChannelOptions } from '../write/thread-write-channel.ts'
import { Archive } from './archive.ts'
import { storeIdOf } from './archive-directory.ts'
import { removeTimes, timesName } from './commit-times.ts'
import { threadClock } from './server-clock.ts'
import { fingerprintOf, hasToken, removeToken } from './token.ts'

interface PrepareArchive {
  dataDir: string
  /** Undefined without --archive. */
  settings: ArchiveSettings | undefined
  log: Log
  /** For tests: see fault-point.ts. */
  faults: string | undefined
}

/** The archive of an owner, from before the store is opened until after it is closed. */
export class OpenArchive {
  readonly #options: PrepareArchive & { settings: ArchiveSettings }
  readonly #archive: Archive
  readonly #databasePath: string
  readonly #timesName: string
  #keeper: Connection | undefined

  private constructor(options: PrepareArchive & { settings: ArchiveSettings }) {
    this.#options = options
    this.#databasePath = join(options.dataDir, 'cubby.db')
    this.#archive = new Archive(options.log)
    this.#timesName = timesName(threadClock(options.settings.clock)())
  }

  /** Without --archive it only removes what would let a later start continue a run that now misses something. */
  static async prepare({ dataDir, settings, log, faults }: PrepareArchive): Promise<OpenArchive | undefined> {
    if (settings !== undefined) {
      const archive = new OpenArchive({ dataDir, settings: { ...settings, dir: resolve(settings.dir) }, log, faults })
      await archive.#hold()
      return archive
    }
    if (hasToken(dataDir)) {
      removeToken(dataDir)
      log('warn', 'the store had an archive, and is served without --archive: the archive has a gap from here on')
    }
    removeTimes(dataDir)
    return undefined
  }

  async #hold(): Promise<void> {
    try {
      await this.#archive.hold(this.#options.settings.dir, this.#options.dataDir)
    } catch (error) {
      await this.#archive.close()
      throw error
    }
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
    const times = { path: join(this.#options.dataDir, this.#timesName), clock: this.#options.settings.clock }
    return { times, flush: () => this.#archive.flush() }
  }

  get state(): ArchiveState | undefined {
    return this.#archive.state
  }

  /** `databaseFile`: a descriptor of the database file that is never closed. */
  async start(databaseFile: number): Promise<void> {
    const { dataDir, settings } = this.#options
    const db = new Connection(this.#databasePath, 256)
    let store: string
    try {
      store = storeIdOf(db)
    } finally {
      db.close()
    }
    await this.#archive.start({ ...settings, store, dataDir, timesName: this.#timesName, databaseFile })
  }

  /**
   * Calls `closeStore`, which closes the last connection of this process. Everything is archived and copied into the database
   * file by then, so closing does not change it. Looked at before, it shows at the next start what a command has changed since.
   */
  async close(closeStore: () => void): Promise<void> {
    const { faults } = this.#options
    const closed = statSync(this.#databasePath, { throwIfNoEntry: false }) && fingerprintOf(this.#databasePath)
    closeStore()
    if (faults !== undefined) faultPoint(faults, 'closed')
    await this.#archive.close({ closed })
  }

  /** The store could not be opened. */
  async abandon(): Promise<void> {
    this.letGoOfWal()
    await this.#archive.close()
  }
}
