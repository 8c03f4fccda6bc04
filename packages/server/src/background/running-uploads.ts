import type { Log } from '../core/log.ts'
import type { Files } from '../store/files.ts'

/** The interface that the code of uploads calls. */
export interface RunningUploads {
  /** The row of the blob is committed, and its bytes go to their place from now on. */
  begin(blobId: string): void
  /** The upload has ended, well or not. */
  end(blobId: string): void
  stop(): Promise<void>
}

interface RunningUploadsOptions {
  files: Pick<Files, 'keepAlive'>
  now(): number
  log: Log
  everyMs?: number
}

/**
 * Much less than the day after which an upload counts as abandoned, and than the time for which sweeps ignore a clock that
 * has jumped: an upload gets the new time before a sweep believes it.
 */
const keepAliveEveryMs = 10 * 60_000

/** Tells the store that the uploads of this process still run. An upload without progress is cut, so a running one has some. */
export const trackUploads = ({
  files,
  now,
  log,
  everyMs = keepAliveEveryMs,
}: RunningUploadsOptions): RunningUploads => {
  const uploads = new Set<string>()
  let telling: Promise<void> | undefined

  const tell = async (): Promise<void> => {
    try {
      await files.keepAlive([...uploads], now())
    } catch (error) {
      log('warn', 'the progress of uploads could not be noted; it is retried later', { cause: String(error) })
    }
    telling = undefined
  }

  const timer = setInterval(() => {
    if (uploads.size > 0) telling ??= tell()
  }, everyMs)
  timer.unref()
  return {
    begin: (blobId) => void uploads.add(blobId),
    end: (blobId) => void uploads.delete(blobId),
    async stop() {
      clearInterval(timer)
      await telling
    },
  }
}
