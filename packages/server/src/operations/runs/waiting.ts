import type { Access } from '../access.ts'
import type { WaitEnd } from './run-waits.ts'

/** Lets the request of a caller wait. Every adapter has its own way to check the key again. */
export interface Waiting {
  /** Aborts when nobody is there any more to take the answer. */
  readonly signal: AbortSignal | undefined
  /** The caller, and the time, at the last check of the key. */
  readonly access: Access
  readonly nowMs: number
  /** Waits without holding anything that other requests need, and then checks the key again. */
  pause(wait: () => Promise<WaitEnd>): Promise<WaitEnd>
}

/** The wait of callers whose key cannot change: tests, and operations that are called directly. */
export const plainWaiting = (access: Access, nowMs: number): Waiting => {
  const startedMs = performance.now()
  return {
    signal: undefined,
    access,
    get nowMs() {
      return nowMs + Math.round(performance.now() - startedMs)
    },
    pause: (wait) => wait(),
  }
}
