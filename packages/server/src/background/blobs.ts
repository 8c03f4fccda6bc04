import { isBlobId } from '../core/files/blob-id.ts'
import { makeHoldingClock } from '../core/holding-clock.ts'
import { sweepRowsMax } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { BlobStore } from '../store/blob-store.ts'
import type { Files } from '../store/files.ts'
import { type Background, inBackground, type PacedSteps } from './paced-steps.ts'

export interface BlobSweepOptions {
  files: Pick<Files, 'takeDue' | 'forget'>
  blobStore: Pick<BlobStore, 'remove'>
  now(): number
  log: Log
  /** The time for which a clock that has jumped ahead is distrusted: see holding-clock.ts. */
  jumpHoldMs: number
  /** The time that bytes are kept longer than usual: see Files. */
  keepMs?: number
  /** The time between two polls for work. */
  everyMs: number
}

/** Blobs that are removed at the same time. They share syncs of a directory. */
const removalsMax = 10

/**
 * Removes the bytes that no record refers to any more, and then their rows. A row is forgotten only when its bytes are gone
 * for certain: after a stop, a crash or an error the next sweep tries again. Several processes may do it at once.
 */
export const startBlobSweep = (options: BlobSweepOptions): Background => {
  const { files, blobStore, now, log, jumpHoldMs, keepMs, everyMs } = options
  const heldNow = makeHoldingClock(now, jumpHoldMs, log)

  /** Bytes that the store keeps go with their row. An id that is none, in a store that somebody else made, has no bytes. */
  const removeBytes = async (id: string): Promise<void> => {
    if (isBlobId(id)) await blobStore.remove(id)
  }

  /** Returns how many blobs are gone. */
  const step = async (steps: PacedSteps, failures: Map<string, unknown>): Promise<number> => {
    const due = await files.takeDue(heldNow(), sweepRowsMax, keepMs)
    const tried = due.filter((id) => !failures.has(id))
    const gone: string[] = []
    for (let at = 0; at < tried.length && !steps.isStopped; at += removalsMax) {
      const removals = tried.slice(at, at + removalsMax).map((id) =>
        removeBytes(id).then(
          () => void gone.push(id),
          (error: unknown) => void failures.set(id, error),
        ),
      )
      await Promise.all(removals)
    }
    if (gone.length > 0) await files.forget(gone)
    return gone.length
  }

  const sweep = async (steps: PacedSteps): Promise<void> => {
    /** Each blob is tried once per sweep: rows whose removal failed are due again at once. */
    const failures = new Map<string, unknown>()
    try {
      await steps.drain(() => step(steps, failures))
    } catch (error) {
      if (!steps.isStopped) log('warn', 'the sweep of files failed; it is retried later', { cause: String(error) })
    }
    const [first] = failures.values()
    if (failures.size === 0) return
    const cause = String((first as Error).cause ?? first)
    log('warn', 'bytes of files could not be removed; it is retried later', { blobs: failures.size, cause })
  }

  return inBackground(async (steps) => {
    while (!steps.isStopped) {
      await sweep(steps)
      if (!steps.isStopped) await steps.rest(everyMs)
    }
  })
}
