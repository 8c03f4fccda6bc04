import type { RunSignals } from '../../core/tasks/run-signals.ts'
import type { RunWaits } from '../runs/run-waits.ts'

/** Services of a process for the operations of tasks and runs. */
export interface TaskServices {
  /** False with `--no-tasks`: claims answer empty. */
  readonly handsOut: boolean
  readonly signals: RunSignals
  readonly waits: RunWaits
  /**
   * Throws `push_target_refused` (field `url`) if the target must not be pushed to. A name that does not resolve now is
   * accepted.
   */
  checkTarget(url: string): Promise<void>
}
