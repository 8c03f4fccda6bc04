import type { RunSignals } from '../../core/tasks/run-signals.ts'
import type { RunReference, Runs } from '../../store/runs.ts'

/** Requests of this process that wait for runs. One look for all of them every `taskLookEveryMs`. */
export class RunWaits {
  constructor(_runs: Runs, _signals: RunSignals, _now: () => number) {
    throw new Error('not built yet')
  }

  /**
   * Resolves when the run may be finished, after `ms`, when `signal` aborts, or when the process stops, whatever comes
   * first. The caller looks again. Throws `unavailable` if too many requests wait.
   */
  untilFinished(_orgId: number, _run: RunReference, _ms: number, _signal: AbortSignal | undefined): Promise<void> {
    throw new Error('not built yet')
  }

  /** The same for a task that may have a run to claim. */
  untilDue(_orgId: number, _taskId: number, _ms: number, _signal: AbortSignal | undefined): Promise<void> {
    throw new Error('not built yet')
  }

  /** Answers all waits; later ones do not wait. */
  stop(): void {
    throw new Error('not built yet')
  }
}
