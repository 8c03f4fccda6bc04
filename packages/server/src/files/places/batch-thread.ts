import { type Batch, type BatchFaults, writeBatch } from './write-batch.ts'

// The thread that writes small files. All that have arrived when a batch ends are in the next one.

declare const self: Worker

/**
 * `files`: of each the directory, the name and the number of bytes. `bytes`: those of all files, in this order. Both lists are
 * JSON.
 */
export type ToBatchThread = { batch: number; files: string; directories: string; bytes: Uint8Array } | { close: true }

/** The batches that were written together, by their numbers. */
export type FromBatchThread = { written: Array<[number, BatchFaults]> } | { closed: true }

const reply = (message: FromBatchThread): void => self.postMessage(message)

let waiting: Array<[number, Batch]> = []

const write = (): void => {
  const batches = waiting
  waiting = []
  const files = batches.flatMap(([, batch]) => batch.files)
  const directories = batches.flatMap(([, batch]) => batch.directories)
  const faults = writeBatch({ files, directories })
  const take = ({ files, directories }: Batch): BatchFaults => ({
    files: faults.files.splice(0, files.length),
    directories: faults.directories.splice(0, directories.length),
  })
  reply({ written: batches.map(([number, batch]) => [number, take(batch)]) })
}

self.onmessage = ({ data }: MessageEvent<ToBatchThread>) => {
  if ('close' in data) {
    waiting = []
    reply({ closed: true })
    return
  }
  // Messages that have already arrived are delivered before an immediate runs.
  if (waiting.length === 0) setImmediate(write)
  let start = 0
  const files = (JSON.parse(data.files) as Array<[string, string, number]>).map(([directory, name, length]) => {
    const bytes = data.bytes.subarray(start, start + length)
    start += length
    return { directory, name, bytes }
  })
  waiting.push([data.batch, { files, directories: JSON.parse(data.directories) as string[] }])
}
