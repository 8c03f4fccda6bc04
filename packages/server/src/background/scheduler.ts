import { taskLookEveryMs } from '../core/limits.ts'
import type { Log } from '../core/log.ts'
import type { RunSignals } from '../core/tasks/run-signals.ts'
import type { RunReference, Runs } from '../store/runs.ts'
import { PacedSteps } from './paced-steps.ts'
import { RareLog } from './rare-log.ts'
import type { Background } from './sweeps.ts'

export interface SchedulerOptions {
  runs: Pick<Runs, 'expireLeases' | 'fireSchedules'>
  /** False with --no-tasks: leases still expire, but schedules create no runs. */
  firesSchedules: boolean
  signals: RunSignals
  now(): number
  log: Log
  /** Called with runs whose leases have expired. */
  onExpired?(runs: RunReference[]): void
  /** How often to look for work. */
  everyMs?: number
}

/** Runs of one step: few, because the writes of a whole commit wait for it. */
const stepRowsMax = 50
const logEveryMs = 10_000
/** After failed looks the time between them doubles, so many times. */
const backoffsMax = 4

/** Applies expired leases, and creates the runs of schedules. Several processes may do it at once. */
export const startScheduler = (options: SchedulerOptions): Background => {
  const { runs, firesSchedules, signals, now, onExpired, everyMs = taskLookEveryMs } = options
  const steps = new PacedSteps()

  const tell = (changed: RunReference[]): void => {
    for (const taskId of new Set(changed.map((run) => run.taskId))) signals.changed(taskId)
  }

  /** Both steps return 0 if they were not full: then nothing is left. */
  const expire = async (): Promise<number> => {
    const expired = await runs.expireLeases(now(), stepRowsMax)
    onExpired?.(expired)
    tell(expired)
    return expired.length < stepRowsMax ? 0 : expired.length
  }
  const fire = async (): Promise<number> => {
    const { due, created } = await runs.fireSchedules(now(), stepRowsMax)
    tell(created)
    return due < stepRowsMax ? 0 : due
  }

  /** Whether it worked. One of the two must not keep the other from its work. */
  const drain = async (step: () => Promise<number>, failed: (cause: string) => void): Promise<boolean> => {
    try {
      await steps.drain(step)
      return true
    } catch (error) {
      if (!steps.isStopped) failed(String(error))
      return false
    }
  }

  const rare = new RareLog(options.log, logEveryMs)
  const log = rare.about('tasks')
  const expireFailed = (cause: string): void =>
    log('warn', 'looking for expired leases failed; it is retried', { cause })
  const fireFailed = (cause: string): void => log('warn', 'looking for due schedules failed; it is retried', { cause })

  const run = async (): Promise<void> => {
    let failures = 0
    while (!steps.isStopped) {
      const expired = await drain(expire, expireFailed)
      const fired = !firesSchedules || (await drain(fire, fireFailed))
      failures = expired && fired ? 0 : failures + 1
      if (!steps.isStopped) await steps.rest(everyMs * 2 ** Math.min(failures, backoffsMax))
    }
  }

  const running = run()
  return {
    async stop() {
      steps.stop()
      await running
      rare.flush()
    },
  }
}
