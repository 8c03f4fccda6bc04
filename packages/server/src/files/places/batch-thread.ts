import { type BatchFault, type SmallFile, writeBatch } from './write-batch.ts'

// The thread that writes small files. All that have arrived when a batch ends are in the next one.

declare const self: Worker

/** `files`: of each the directory, the name and the number of bytes, as JSON. `bytes`: those of all files, in this order. */
export type ToBatchThread = { files: string; bytes: Uint8Array } | { close: true }

/** In the order in which the files were sent. */
export type FromBatchThread = { faults: Array<BatchFault | undefined> } | { closed: true }

const reply = (message: FromBatchThread): void => self.postMessage(message)

let waiting: SmallFile[] = []

const write = (): void => {
  const batch = waiting
  waiting = []
  reply({ faults: writeBatch(batch) })
}

self.onmessage = ({ data }: MessageEvent<ToBatchThread>) => {
  if ('close' in data) {
    reply({ closed: true })
    return
  }
  // Messages that have already arrived are delivered before an immediate runs.
  if (waiting.length === 0) setImmediate(write)
  let start = 0
  for (const [directory, name, length] of JSON.parse(data.files) as Array<[string, string, number]>) {
    waiting.push({ directory, name, bytes: data.bytes.subarray(start, start + length) })
    start += length
  }
}
