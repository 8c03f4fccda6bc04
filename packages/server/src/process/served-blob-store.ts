import { startBlobSweep } from '../background/blobs.ts'
import type { Background } from '../background/paced-steps.ts'
import { type RunningUploads, trackUploads } from '../background/running-uploads.ts'
import { storeFileBytesMax } from '../core/limits.ts'
import { CheckedBlobStore } from '../files/blob-stores/checked-blob-store.ts'
import { DirectoryBlobStore } from '../files/blob-stores/directory.ts'
import { makeBlobStore } from '../files/blob-stores/open-blob-store.ts'
import type { CountedFiles } from '../metrics/work-metrics.ts'
import type { BlobStore, BlobWriter } from '../store/blob-store.ts'
import type { Engine } from '../store/engine.ts'
import type { ServeOptions } from './serve-options.ts'

// The place of the bytes of files in a serving process: opened and checked at the start, swept by the owner, closed at the end.

export interface ServedBlobStore {
  /** The blob store that requests use. It is the one of this store, or every call throws `unavailable`. */
  readonly blobStore: BlobStore
  /** The blob store in the line `listening`; undefined for the default, which needs no mention. */
  readonly shown: string | undefined
  /** Removes the bytes that no file refers to any more. One process of `--workers` does it, and each one on PostgreSQL. */
  startSweep(): Background
  close(): Promise<void>
}

/** A removal in a place that does not answer takes longer than a stop may: its row is still there for the next start. */
const sweepStopMsMax = 1_000

/**
 * Opens the place that `--files` names; undefined without one. `role`: the owner refuses to start on the place of another
 * store or with wrong settings. Its workers do not check again: while the place fails, they would be started over and over.
 */
export const openServedBlobStore = async (
  { files, filesAreGiven, adoptsFiles, smallFilesInStore, keepDeadBlobsMs, clock, log }: ServeOptions,
  engine: Engine,
  role: 'owner' | 'worker',
  counted?: CountedFiles,
): Promise<ServedBlobStore | undefined> => {
  if (files === undefined) return undefined
  const made = await makeBlobStore(files, { env: process.env, now: clock.now, log })
  const blobStore = new CheckedBlobStore(made, engine.files, log)
  if (role === 'owner') await blobStore.checkAtStart(adoptsFiles)
  const uploads = trackUploads({ files: engine.files, now: clock.now, log })
  const { now, jumpHoldMs, sweepEveryMs: everyMs } = clock
  const used =
    counted === undefined ? tracked(blobStore, uploads) : countedBlobStore(tracked(blobStore, uploads), counted)
  const inStore = { bytesMax: storeFileBytesMax, prepare: () => blobStore.prepare() }
  return {
    blobStore: (smallFilesInStore ?? made instanceof DirectoryBlobStore) ? Object.assign(used, { inStore }) : used,
    shown: filesAreGiven ? blobStore.description : undefined,
    startSweep() {
      const sweep = startBlobSweep({
        ...{ files: engine.files, blobStore, now, log, jumpHoldMs, everyMs },
        keepMs: keepDeadBlobsMs,
      })
      return { stop: () => Promise.race([sweep.stop(), Bun.sleep(sweepStopMsMax)]) }
    },
    async close() {
      await uploads.stop()
      await blobStore.close()
    },
  }
}

/** The same place; an upload counts as running from when its bytes go there until it has ended, well or not. */
export const tracked = (blobStore: BlobStore, uploads: RunningUploads): BlobStore => {
  const write = blobStore.write.bind(blobStore)
  return Object.assign(blobStore, {
    async write(id: string, bytes?: number) {
      uploads.begin(id)
      try {
        return trackedWriter(await write(id, bytes), () => uploads.end(id))
      } catch (error) {
        uploads.end(id)
        throw error
      }
    },
  })
}

const trackedWriter = (writer: BlobWriter, ended: () => void): BlobWriter => ({
  write: (chunk) => writer.write(chunk),
  finish: (sha256) => writer.finish(sha256).finally(ended),
  abort: () => writer.abort().finally(ended),
})

/** The same place, for the metrics: its bytes are counted as they pass. */
export const countedBlobStore = (blobStore: BlobStore, counted: Pick<CountedFiles, 'written' | 'read'>): BlobStore => {
  const [write, read] = [blobStore.write.bind(blobStore), blobStore.read.bind(blobStore)]
  return Object.assign(blobStore, {
    async write(id: string, bytes?: number) {
      const writer = await write(id, bytes)
      return {
        async write(chunk: Uint8Array) {
          // Its owner may free the chunk after that.
          const { length } = chunk
          await writer.write(chunk)
          counted.written(length)
        },
        finish: (sha256: string) => writer.finish(sha256),
        abort: () => writer.abort(),
      }
    },
    read: async (id: string, start: number, end: number) => countedChunks(await read(id, start, end), counted),
  })
}

/** This iterator is written without `function*`: a generator that was never started would not close its source. */
const countedChunks = (
  chunks: AsyncIterable<Uint8Array>,
  counted: Pick<CountedFiles, 'written' | 'read'>,
): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]() {
    const source = chunks[Symbol.asyncIterator]()
    return {
      async next(used?: Uint8Array) {
        const result = await source.next(used)
        if (result.done !== true) counted.read(result.value.length)
        return result
      },
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }
  },
})
