import type { Run, RunError } from '../core/tasks/run.ts'
import type { Allow } from './allow.ts'
import type { Resolve } from './resolve.ts'

/** What one attempt sends, and where. */
export interface Push {
  url: string
  authorization: string | null
  /** One or two, newest first: all of them sign. */
  secrets: readonly string[]
  db: string
  /** Its name. */
  task: string
  /** With the lease of this attempt. */
  run: Run
}

export interface PushOptions {
  allow: Allow
  /** The caller owns the deadline. An abort closes the connection, and the outcome is `timeout`. */
  signal: AbortSignal
  nowMs: number
  /** For tests. */
  resolve?: Resolve
}

export type PushOutcome =
  /** `result`: the text of a JSON object; null if the answer has none that can be kept. */
  | { status: 'succeeded'; result: string | null }
  | {
      status: 'failed'
      error: RunError
      /** False: the run fails for good. */
      retry: boolean
      /** Replaces the backoff. */
      retryAfterMs: number | null
    }

/** Makes one attempt. Never throws because of the target or its answer. */
export const pushRun = async (_push: Push, _options: PushOptions): Promise<PushOutcome> => {
  throw new Error('not here yet')
}
