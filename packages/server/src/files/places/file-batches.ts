import { endThread } from '../../core/end-thread.ts'
import type { FromBatchThread, ToBatchThread } from './batch-thread.ts'
import { NoDirectory } from './directory-tree.ts'
import { NamesNotSynced } from './shared-sync.ts'
import type { BatchFault, SmallFile } from './write-batch.ts'

/** This many files are sent to the thread before the turn of the event loop in which they are given ends. */
const sendAtFiles = 8

/** The thread failed: some of its files may be there. */
export class BatchLost extends Error {}

/** Writes batches, by `writeBatch`. Tests do it in the calling thread. */
export interface FilesWriter {
  /** One fault for each file, undefined for those that are durable. Rejects with BatchLost. */
  write(files: SmallFile[]): Promise<Array<BatchFault | undefined>>
  /** Nothing may be in progress. */
  close(): Promise<void>
}

const errorOf = ({ code, message, kind }: BatchFault): Error => {
  if (kind === 'noDirectory') return new NoDirectory(message)
  return Object.assign(kind === 'namesNotSynced' ? new NamesNotSynced(message) : new Error(message), { code })
}

interface Waiting extends SmallFile {
  resolve(): void
  reject(error: Error): void
}

/** Writes small files in batches: the system calls of one by one, and their waits, are most of what a small file costs. */
export class FileBatches {
  readonly #writer: FilesWriter
  #waiting: Waiting[] = []
  #isScheduled = false

  constructor(writer: FilesWriter = new BatchThread()) {
    this.#writer = writer
  }

  close(): Promise<void> {
    return this.#writer.close()
  }

  /** Resolves when the file is durable under its name. The bytes are used until then. */
  put(directory: string, name: string, bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ directory, name, bytes, resolve, reject })
      if (this.#waiting.length >= sendAtFiles) this.#send()
      else if (!this.#isScheduled) {
        this.#isScheduled = true
        setImmediate(this.#sendScheduled)
      }
    })
  }

  readonly #sendScheduled = (): void => {
    this.#isScheduled = false
    if (this.#waiting.length > 0) this.#send()
  }

  #send(): void {
    const files = this.#waiting
    this.#waiting = []
    this.#writer.write(files).then(
      (faults) =>
        files.forEach(({ resolve, reject }, i) => {
          const fault = faults[i]
          if (fault === undefined) resolve()
          else reject(errorOf(fault))
        }),
      (error: Error) => {
        for (const { reject } of files) reject(error)
      },
    )
  }
}

interface Sent {
  files: number
  resolve(faults: Array<BatchFault | undefined>): void
  reject(error: Error): void
}

/** The thread, from the first batch on. If it fails, the batches that it has fail, and the next one starts another. */
class BatchThread implements FilesWriter {
  #thread: Worker | undefined
  #sent: Sent[] = []

  write(files: SmallFile[]): Promise<Array<BatchFault | undefined>> {
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#sent.push({ files: files.length, resolve, reject })
      const bytes = new Uint8Array(files.reduce((sum, file) => sum + file.bytes.length, 0))
      let start = 0
      for (const file of files) {
        bytes.set(file.bytes, start)
        start += file.bytes.length
      }
      const list = files.map(({ directory, name, bytes: { length } }) => [directory, name, length])
      const message: ToBatchThread = { files: JSON.stringify(list), bytes }
      this.#thread.postMessage(message, [bytes.buffer])
    })
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    if (thread !== undefined) await endThread(thread)
  }

  #start(): Worker {
    const thread = new Worker(new URL('./batch-thread.ts', import.meta.url).href)
    thread.onmessage = ({ data }: MessageEvent<FromBatchThread>) => {
      if ('faults' in data) this.#take(data.faults)
    }
    thread.onerror = (event: ErrorEvent) => {
      thread.terminate()
      if (this.#thread !== thread) return
      this.#thread = undefined
      const sent = this.#sent
      this.#sent = []
      const lost = new BatchLost(`the thread that writes small files failed: ${event.message}`)
      for (const { reject } of sent) reject(lost)
    }
    return thread
  }

  /** A batch of the thread is one or several of ours. */
  #take(faults: Array<BatchFault | undefined>): void {
    for (let taken = 0; taken < faults.length; ) {
      const { files, resolve } = this.#sent.shift()!
      resolve(faults.slice(taken, taken + files))
      taken += files
    }
  }
}
