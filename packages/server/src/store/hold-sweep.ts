import type { Engine } from './engine.ts'

const holdMs = 10 * 60 * 1000
const renewEveryMs = 60_000

/**
 * Keeps sweeps from removing bytes while `work` runs. Take the snapshot inside: the blobs that are live in it stay until the
 * hold has run out, at most ten minutes after the end. A store without files is only read: it may be on a disk that is full or
 * read-only.
 */
export const holdingSweep = async <T>(engine: Engine, work: () => Promise<T>): Promise<T> => {
  // If the first upload comes later, a renewal takes the hold, long before bytes are an hour old.
  const hold = async (): Promise<void> => {
    if ((await engine.files.readMark()) !== undefined) await engine.files.holdSweep(Date.now() + holdMs)
  }
  await hold()
  // A renewal that fails is repeated a minute later; the hold lasts for ten.
  const timer = setInterval(() => void hold().catch(() => {}), renewEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
