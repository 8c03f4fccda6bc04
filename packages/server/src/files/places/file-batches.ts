import { Thread } from '../../core/thread.ts'
import type { FromBatchThread, ToBatchThread } from './batch-thread.ts'
import { NoDirectory } from './directory-tree.ts'
import { NamesNotSynced } from './shared-sync.ts'
import type { Batch, BatchFault, BatchFaults, SmallFile } from './write-batch.ts'

/** A stop waits so long for the batch that is being written. Requests have had their time to end before. */
const closeMsMax = 250

/** This many are sent to the thread before the turn of the event loop in which they are given ends. */
const sendAt = 8

/** The thread failed. Some of its files may be there, and a sync of their directory may have failed. */
export class BatchLost extends NamesNotSynced {}

/** Writes batches one after another, by `writeBatch`, and answers in this order. Tests do it in the calling thread. */
export interface BatchWriter {
  /** Rejects with BatchLost if the outcome is not known. */
  write(batch: Batch): Promise<BatchFaults>
  /** The batch that is being written may still end well. What waits, and what comes later, fails. */
  close(): Promise<void>
}

const errorOf = ({ code, message, kind }: BatchFault): Error => {
  if (kind === 'noDirectory') return new NoDirectory(message)
  return Object.assign(kind === 'namesNotSynced' ? new NamesNotSynced(message) : new Error(message), { code })
}

interface Settle {
  resolve(): void
  reject(error: Error): void
}

/**
 * Writes small files, and syncs directories, in batches: the system calls of one by one, and their waits, are most of what a
 * small file costs.
 */
export class FileBatches {
  readonly #writer: BatchWriter
  #files: Array<SmallFile & Settle> = []
  #directories: Array<{ directory: string } & Settle> = []
  #isScheduled = false

  constructor(writer: BatchWriter = new BatchThread()) {
    this.#writer = writer
  }

  close(): Promise<void> {
    return this.#writer.close()
  }

  /** Resolves when the file is durable under its name. The bytes are used until then. */
  put(directory: string, name: string, bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#files.push({ directory, name, bytes, resolve, reject })
      this.#sendSoon()
    })
  }

  /**
   * Syncs a directory in the same order as those of files. So a sync that fails is known before the next one ends, and a
   * change that it may have dropped fails with it.
   */
  sync(directory: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#directories.push({ directory, resolve, reject })
      this.#sendSoon()
    })
  }

  #sendSoon(): void {
    if (this.#files.length + this.#directories.length >= sendAt) this.#send()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(this.#sendScheduled)
    }
  }

  readonly #sendScheduled = (): void => {
    this.#isScheduled = false
    if (this.#files.length + this.#directories.length > 0) this.#send()
  }

  #send(): void {
    const [files, directories] = [this.#files, this.#directories]
    this.#files = []
    this.#directories = []
    this.#writer.write({ files, directories: directories.map(({ directory }) => directory) }).then(
      (faults) => {
        settle(files, faults.files)
        settle(directories, faults.directories)
      },
      (error: Error) => {
        for (const { reject } of [...files, ...directories]) reject(error)
      },
    )
  }
}

const settle = (asked: Settle[], faults: Array<BatchFault | undefined>): void =>
  asked.forEach(({ resolve, reject }, i) => {
    const fault = faults[i]
    if (fault === undefined) resolve()
    else reject(errorOf(fault))
  })

const closed = (): BatchLost => new BatchLost('the place of the files is closed')
const failed = (why: string): BatchLost => new BatchLost(`the thread that writes small files failed: ${why}`)

interface Sent {
  resolve(faults: BatchFaults): void
  reject(error: Error): void
}

/** The thread, from the first batch on. If it fails, the batches that it has fail, and the next one starts another. */
export class BatchThread implements BatchWriter {
  readonly #script: string
  #thread: Thread<ToBatchThread, FromBatchThread> | undefined
  #sent = new Map<number, Sent>()
  #batches = 0
  #isClosed = false

  /** `script`: for tests. */
  constructor(script = new URL('./batch-thread.ts', import.meta.url).href) {
    this.#script = script
  }

  write({ files, directories }: Batch): Promise<BatchFaults> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw closed()
      const bytes = new Uint8Array(files.reduce((sum, file) => sum + file.bytes.length, 0))
      let start = 0
      for (const file of files) {
        bytes.set(file.bytes, start)
        start += file.bytes.length
      }
      const list = files.map(({ directory, name, bytes: { length } }) => [directory, name, length])
      const batch = ++this.#batches
      const lists = { files: JSON.stringify(list), directories: JSON.stringify(directories) }
      const message: ToBatchThread = { batch, ...lists, bytes }
      this.#thread ??= this.#start()
      this.#thread.post(message, [bytes.buffer])
      this.#sent.set(batch, { resolve, reject })
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#thread?.end({}, closeMsMax)
    this.#lose(closed())
  }

  #start(): Thread<ToBatchThread, FromBatchThread> {
    return new Thread(this.#script, {
      message: ({ written }) => {
        for (const [batch, faults] of written) this.#take(batch, faults)
      },
      lost: (cause) => this.#lose(failed(cause)),
    })
  }

  #take(batch: number, faults: BatchFaults): void {
    this.#sent.get(batch)?.resolve(faults)
    this.#sent.delete(batch)
  }

  /** What was sent to the thread gets no answer any more. */
  #lose(lost: BatchLost): void {
    this.#thread = undefined
    const sent = this.#sent
    this.#sent = new Map()
    for (const { reject } of sent.values()) reject(lost)
  }
}
