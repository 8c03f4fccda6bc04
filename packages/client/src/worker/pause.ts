/** Resolves after `ms`, or when the signal aborts. Never rejects. */
export const pauseUntil = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    // Bun and newer versions of Node warn about a negative time.
    const timer = setTimeout(end, Math.max(0, ms))
    signal?.addEventListener('abort', end)
  })

const delayMsMax = 10_000

/** Doubles from 100 ms. The random part keeps many workers from coming back at the same time. */
export const backoffMs = (failures: number): number =>
  Math.min(delayMsMax, 100 * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2)
